package cloud_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

const execRoute = "POST /machines/" + id + "/exec"

func TestExecBody(t *testing.T) {
	s := serve(t, answers{execRoute: says(`{"exitCode":0}`)})
	_, err := s.backend().Exec(t.Context(), id, &smol.ExecRequest{
		Argv: []string{"sh", "-c", "echo <&> \u2028"}, Env: []string{"A=1", "B=x=y", "A=2", "C="}, Dir: "/srv", Timeout: 1200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"command": []any{"sh", "-c", "echo <&> \u2028"}, "env": map[string]any{"A": "2", "B": "x=y", "C": ""}, "cwd": "/srv", "timeoutSeconds": 2.0,
	}
	if diff := cmp.Diff(want, s.bodyOf(execRoute)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(s.requests()[0], execRoute+"?output=b64 ") {
		t.Errorf("sent %q", s.requests()[0])
	}
}

func TestExecAnswers(t *testing.T) {
	binary := "\x00\xff\r\n\r"
	b64 := base64.StdEncoding.EncodeToString([]byte(binary))
	for _, tt := range []struct {
		name, body string
		want       smol.ExecResult
	}{
		{"base64 alone", `{"exitCode":3,"stdout":"","stderr":"","stdoutB64":"` + b64 + `","stderrB64":"ZXJy"}`, smol.ExecResult{ExitCode: 3, Stdout: []byte(binary), Stderr: []byte("err")}},
		{"both", `{"exitCode":0,"stdout":"\ufffd","stdoutTruncated":true,"stdoutB64":"` + b64 + `","stderrB64":""}`, smol.ExecResult{Stdout: []byte(binary)}},
		{"text alone", `{"exitCode":1,"stdout":"out\r\n","stderr":"e"}`, smol.ExecResult{ExitCode: 1, Stdout: []byte("out\r\n"), Stderr: []byte("e")}},
		{"text, base64 empty", `{"exitCode":1,"stdout":"out","stderr":"","stdoutB64":"","stderrB64":""}`, smol.ExecResult{ExitCode: 1, Stdout: []byte("out")}},
		{"timed out", `{"exitCode":124}`, smol.ExecResult{ExitCode: 124}},
		{
			"no such program",
			`{"exitCode":255,"stderr":"executable file 'prog' not found in $PATH: No such file or directory"}`,
			smol.ExecResult{ExitCode: 127, Stderr: []byte("executable file 'prog' not found in $PATH: No such file or directory")},
		},
		{
			"a program that says so of another",
			`{"exitCode":255,"stderr":"executable file 'other' not found in $PATH"}`,
			smol.ExecResult{ExitCode: 255, Stderr: []byte("executable file 'other' not found in $PATH")},
		},
		{
			"a program that has written",
			`{"exitCode":255,"stdout":"x","stderr":"executable file 'prog' not found"}`,
			smol.ExecResult{ExitCode: 255, Stdout: []byte("x"), Stderr: []byte("executable file 'prog' not found")},
		},
		{"fields of tomorrow", `{"exitCode":0,"oomKilled":false,"usage":{"cpu":1}}`, smol.ExecResult{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{execRoute: says(tt.body)})
			res, err := s.backend().Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"prog"}})
			if err != nil {
				t.Fatal(err)
			}
			same := cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })
			if diff := cmp.Diff(&tt.want, res, same); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestExecAnswersThatCannotBeUsed: output that is not whole is not handed out as if it were, and no code is not code 0.
func TestExecAnswersThatCannotBeUsed(t *testing.T) {
	for _, tt := range []struct {
		body string
		code smol.Code
		text string
	}{
		{`{"exitCode":0,"stdout":"x","stdoutTruncated":true}`, smol.CodeUnsupported, "output"},
		{`{"exitCode":0,"stderr":"x","stderrTruncated":true,"stderrB64":""}`, smol.CodeUnsupported, "error output"},
		{`{"exitCode":0,"stdout":"\ufffd"}`, smol.CodeUnsupported, "as text only"},
		{`{"exitCode":0,"stdoutB64":"!"}`, smol.CodeUnknown, "stdoutB64"},
		{`{"stdout":"x"}`, smol.CodeUnknown, "no exit code"},
		{`{"exitCode":null}`, smol.CodeUnknown, "no exit code"},
		{`{"exitCode":"0"}`, smol.CodeUnknown, "not understood"},
		{`{}`, smol.CodeUnknown, "no exit code"},
		{``, smol.CodeUnknown, "not understood"},
		{`{"exitCode":0`, smol.CodeUnknown, "not understood"},
	} {
		s := serve(t, answers{execRoute: says(tt.body)})
		_, err := s.backend().Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"true"}})
		e := asError(t, err)
		if e.Code != tt.code || !strings.Contains(e.Message, tt.text) || e.Op != "exec" || e.Machine != id || e.Status != 0 {
			t.Errorf("%s: %#v", tt.body, e)
		}
		if errors.Is(err, errors.ErrUnsupported) != (tt.code == smol.CodeUnsupported) {
			t.Errorf("%s: %v", tt.body, err)
		}
	}
}

func TestExecRefusedHere(t *testing.T) {
	s := serve(t, answers{})
	b := s.backend()
	for field, req := range map[string]*smol.ExecRequest{
		"Argv":    {},
		"Argv[1]": {Argv: []string{"echo", "\xff"}},
		"Env[0]":  {Argv: []string{"true"}, Env: []string{"novalue"}},
		"Env[1]":  {Argv: []string{"true"}, Env: []string{"A=1", "1B=2"}},
		"Dir":     {Argv: []string{"true"}, Dir: "/\x00"},
		"Timeout": {Argv: []string{"true"}, Timeout: -1},
		"User":    {Argv: []string{"true"}, User: "me\nroot"},
	} {
		_, err := b.Exec(t.Context(), id, req)
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "ExecRequest."+field) {
			t.Errorf("%s: %v", field, err)
		}
		for _, err := range b.Stream(t.Context(), id, req) {
			if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "ExecRequest."+field) {
				t.Errorf("%s, streamed: %v", field, err)
			}
		}
	}
	if got := s.requests(); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}

// echoes answers commands as a service that knows users, and counts those that are not the proof.
func echoes(user string, ran *int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 4096)
		n, _ := r.Body.Read(body)
		if !strings.Contains(string(body[:n]), `"command":["true"]`) {
			*ran++
		}
		says(fmt.Sprintf(`{"exitCode":0,"user":%q}`, user))(w, r)
	}
}

// TestUser: nothing runs as a user before the service has shown that it knows what that is.
func TestUser(t *testing.T) {
	req := &smol.ExecRequest{Argv: []string{"id"}, User: "app"}
	t.Run("known", func(t *testing.T) {
		ran := 0
		s := serve(t, answers{execRoute: echoes("app", &ran)})
		b := s.backend()
		for range 3 {
			if _, err := b.Exec(t.Context(), id, req); err != nil {
				t.Fatal(err)
			}
		}
		if ran != 3 || s.count(execRoute) != 4 {
			t.Errorf("ran %d times with %d requests: the proof is asked for once", ran, s.count(execRoute))
		}
		proof := s.bodyOf(execRoute)
		want := map[string]any{"command": []any{"true"}, "user": "app", "timeoutSeconds": 30.0}
		if diff := cmp.Diff(want, proof); diff != "" {
			t.Errorf("proof (-want +got):\n%s", diff)
		}
	})
	t.Run("not known", func(t *testing.T) {
		for _, user := range []string{"", "root", "App"} {
			ran := 0
			s := serve(t, answers{execRoute: echoes(user, &ran)})
			b := s.backend()
			for range 2 {
				_, err := b.Exec(t.Context(), id, req)
				if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "nothing was run") {
					t.Errorf("echo %q: %v", user, err)
				}
			}
			var last error
			for _, err := range b.Stream(t.Context(), id, req) {
				last = err
			}
			if !errors.Is(last, errors.ErrUnsupported) || ran != 0 || s.count(execRoute) != 3 {
				t.Errorf("echo %q: %v, ran %d times with %d requests", user, last, ran, s.count(execRoute))
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		s := serve(t, answers{execRoute: fails(http.StatusBadRequest, "", "no such user: app")})
		_, err := s.backend().Exec(t.Context(), id, req)
		if !errors.Is(err, smol.ErrInvalid) || s.count(execRoute) != 1 {
			t.Errorf("%v with %d requests", err, s.count(execRoute))
		}
	})
	t.Run("another machine, another user", func(t *testing.T) {
		other := "POST /machines/m2/exec"
		ran := 0
		echo := func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, 4096)
			n, _ := r.Body.Read(body)
			_, after, _ := strings.Cut(string(body[:n]), `"user":"`)
			user, _, _ := strings.Cut(after, `"`)
			ran++
			says(fmt.Sprintf(`{"exitCode":0,"user":%q}`, user))(w, r)
		}
		s := serve(t, answers{execRoute: echo, other: echo})
		b := s.backend()
		for _, c := range [][2]string{{id, "app"}, {"m2", "app"}, {id, "web"}, {id, "app"}} {
			if _, err := b.Exec(t.Context(), c[0], &smol.ExecRequest{Argv: []string{"id"}, User: c[1]}); err != nil {
				t.Error(err)
			}
		}
		if ran != 4+3 {
			t.Errorf("%d requests: each machine and user needs its own proof, and only one", ran)
		}
	})
	t.Run("forgotten by the service", func(t *testing.T) {
		s := serve(t, answers{execRoute: inTurn(says(`{"exitCode":0,"user":"app"}`), says(`{"exitCode":0}`))})
		_, err := s.backend().Exec(t.Context(), id, req)
		if e := asError(t, err); e.Code != smol.CodeUnknown || !strings.Contains(e.Message, "does not confirm") {
			t.Error(err)
		}
	})
	t.Run("not asked for", func(t *testing.T) {
		s := serve(t, answers{execRoute: says(`{"exitCode":0,"user":"root"}`)})
		if _, err := s.backend().Exec(t.Context(), id, &smol.ExecRequest{Argv: []string{"id"}}); err != nil || s.count(execRoute) != 1 {
			t.Error(err)
		}
	})
}
