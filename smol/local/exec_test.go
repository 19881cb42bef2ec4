package local_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

const execRoute = "POST /machines/m/exec"

func TestExecOnTheWire(t *testing.T) {
	for _, tt := range []struct {
		req  smol.ExecRequest
		want string
	}{
		{smol.ExecRequest{Argv: []string{"true"}}, `{"command":["true"]}`},
		{smol.ExecRequest{Argv: []string{"sh", "-c", "a <b >c && d"}, Env: []string{"A=1", "B=x=y", "C="}, Dir: "/w"}, `{"command":["sh","-c","a <b >c && d"],"env":[{"name":"A","value":"1"},{"name":"B","value":"x=y"},{"name":"C","value":""}],"workdir":"/w"}`},
		{smol.ExecRequest{Argv: []string{"a", ""}, Timeout: time.Nanosecond}, `{"command":["a",""],"timeoutSecs":1}`},
		{smol.ExecRequest{Argv: []string{"a"}, Timeout: time.Second}, `{"command":["a"],"timeoutSecs":1}`},
		{smol.ExecRequest{Argv: []string{"a"}, Timeout: 1500 * time.Millisecond}, `{"command":["a"],"timeoutSecs":2}`},
		{smol.ExecRequest{Argv: []string{"a"}, Timeout: 280 * time.Second}, `{"command":["a"],"timeoutSecs":280}`},
	} {
		s := serve(t, answers{execRoute: says(`{"exitCode":0,"stdoutB64":"","stderrB64":""}`)})
		if _, err := s.backend().Exec(t.Context(), "m", &tt.req); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{execRoute + " " + tt.want}, s.requests()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestExecResults(t *testing.T) {
	noProgram := func(os int, text string) http.HandlerFunc {
		return fails(500, "INTERNAL_ERROR", fmt.Sprintf("agent operation failed: vm exec: failed to spawn command: %s (os error %d)", text, os))
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   smol.ExecResult
	}{
		{"exact bytes", says(`{"exitCode":3,"stdout":"\ufffd","stderr":"e","stdoutB64":"/wAK","stderrB64":"ZQ=="}`), smol.ExecResult{ExitCode: 3, Stdout: []byte("\xff\x00\n"), Stderr: []byte("e")}},
		{"no output", says(`{"exitCode":0,"stdout":"","stderr":"","stdoutB64":"","stderrB64":""}`), smol.ExecResult{Stdout: []byte{}, Stderr: []byte{}}},
		{"a service without base64", says(`{"exitCode":0,"stdout":"o\n","stderr":"e\n"}`), smol.ExecResult{Stdout: []byte("o\n"), Stderr: []byte("e\n")}},
		{"time-out", says(`{"exitCode":124,"stdoutB64":"","stderrB64":""}`), smol.ExecResult{ExitCode: 124, Stdout: []byte{}, Stderr: []byte{}}},
		{"no program on a bare machine", noProgram(2, "No such file or directory"), smol.ExecResult{ExitCode: 127, Stderr: []byte("No such file or directory (os error 2)\n")}},
		{"not executable", noProgram(13, "Permission denied"), smol.ExecResult{ExitCode: 126, Stderr: []byte("Permission denied (os error 13)\n")}},
		{"of no format", noProgram(8, "Exec format error"), smol.ExecResult{ExitCode: 126, Stderr: []byte("Exec format error (os error 8)\n")}},
		{"no program in an image", says(`{"exitCode":1,"stdoutB64":"","stderrB64":"` + b64("crun: executable file `prog` not found in $PATH: No such file or directory\n") + `"}`), smol.ExecResult{ExitCode: 127, Stdout: []byte{}, Stderr: []byte("crun: executable file `prog` not found in $PATH: No such file or directory\n")}},
		{"a command that says so of another", says(`{"exitCode":1,"stdoutB64":"","stderrB64":"` + b64("executable file `other` not found in $PATH") + `"}`), smol.ExecResult{ExitCode: 1, Stdout: []byte{}, Stderr: []byte("executable file `other` not found in $PATH")}},
		{"a command that failed after output", says(`{"exitCode":1,"stdoutB64":"bw==","stderrB64":"` + b64("executable file `prog` not found in $PATH") + `"}`), smol.ExecResult{ExitCode: 1, Stdout: []byte("o"), Stderr: []byte("executable file `prog` not found in $PATH")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{execRoute: tt.answer})
			got, err := s.backend().Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"prog"}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestExecFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		status int
		code   smol.Code
		says   string
	}{
		{"no exit code", says(`{"stdout":"","stderr":""}`), 0, smol.CodeUnknown, "no exit code"},
		{"not base64", says(`{"exitCode":0,"stdoutB64":"???","stderrB64":""}`), 0, smol.CodeUnknown, "not understood"},
		{"too much output", fails(500, "INTERNAL_ERROR", "agent operation failed: vm exec: command output exceeded 11534336 bytes and was truncated. Use streaming exec"), 500, smol.CodeInternal, "exceeded"},
		{"another spawn failure", fails(500, "INTERNAL_ERROR", "agent operation failed: vm exec: failed to spawn command: Argument list too long (os error 7)"), 500, smol.CodeInternal, "Argument list"},
		{"a failure to boot", fails(500, "INTERNAL_ERROR", "io operation failed: No such file or directory (os error 2)"), 500, smol.CodeInternal, "io operation"},
		{"a mount is gone", fails(400, "BAD_REQUEST", "mount validation failed: mount source not found: /src"), 400, smol.CodeInvalid, "/src"},
		{"gave up", gaveUp, 408, smol.CodeUnavailable, "408"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{execRoute: tt.answer})
			_, err := s.backend().Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"prog"}})
			e := asError(t, err)
			if e.Status != tt.status || e.Code != tt.code || !strings.Contains(e.Message, tt.says) || e.Op != "exec" || e.Machine != "m" {
				t.Errorf("got %+v", e)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestExecRefused(t *testing.T) {
	s := serve(t, nil)
	b := s.backend()
	for field, req := range map[string]smol.ExecRequest{
		"Argv":     {},
		"Argv ":    {Argv: []string{""}},
		"Argv[1]":  {Argv: []string{"a", "\x00"}},
		"Argv[1] ": {Argv: []string{"a", "\xff"}},
		"Env[0]":   {Argv: []string{"a"}, Env: []string{"A"}},
		"Env[0] ":  {Argv: []string{"a"}, Env: []string{"=A"}},
		"Env[1]":   {Argv: []string{"a"}, Env: []string{"A=1", "1A=1"}},
		"Env[1] ":  {Argv: []string{"a"}, Env: []string{"A=1", "B=\xff"}},
		"Env[0]  ": {Argv: []string{"a"}, Env: []string{strings.Repeat("A", 257) + "=1"}},
		"Dir":      {Argv: []string{"a"}, Dir: "/\x00"},
		"Timeout":  {Argv: []string{"a"}, Timeout: -1},
		"bytes":    {Argv: []string{"a", strings.Repeat("x", 2<<20)}},
	} {
		_, err := b.Exec(t.Context(), "m", &req)
		if e := asError(t, err); e.Code != smol.CodeInvalid || e.Op != "exec" || !strings.Contains(e.Message, strings.TrimSpace(field)) || len(e.Message) > 1000 {
			t.Errorf("%s: %+v", field, e)
		}
		for _, err := range b.Stream(t.Context(), "m", &req) {
			if e := asError(t, err); e.Code != smol.CodeInvalid || e.Op != "stream" || !strings.Contains(e.Message, strings.TrimSpace(field)) {
				t.Errorf("stream %s: %+v", field, e)
			}
		}
	}
	_, err := b.Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"a"}, User: "nobody"})
	if e := asError(t, err); !errors.Is(err, errors.ErrUnsupported) || e.Hint == "" {
		t.Errorf("another user: %+v", e)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestScriptsFit wants a body of nearly 2 MiB sent, although each of its characters would be longer in JSON made for web pages.
func TestScriptsFit(t *testing.T) {
	s := serve(t, answers{execRoute: func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); n > 2<<20 {
			t.Errorf("%d bytes were sent", n)
		}
		says(`{"exitCode":0,"stdoutB64":"","stderrB64":""}`)(w, r)
	}})
	if _, err := s.backend().Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{strings.Repeat("<>&", 690_000)}}); err != nil {
		t.Error(err)
	}
}

// TestLargeReply is a reply of 17 MiB, above the limit of other replies: output of bytes that take three each as text.
func TestLargeReply(t *testing.T) {
	out := strings.Repeat("\xff", 4<<20)
	s := serve(t, answers{execRoute: says(`{"exitCode":0,"stdout":"` + strings.Repeat("\ufffd", len(out)) + `","stderr":"","stdoutB64":"` + b64(out) + `","stderrB64":""}`)})
	got, err := s.backend().Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"a"}})
	if err != nil || string(got.Stdout) != out {
		t.Errorf("%v", err)
	}
}
