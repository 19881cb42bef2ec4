package local_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

const streamRoute = "POST /machines/m/exec/stream"

// collect ranges over a stream.
func collect(ctx context.Context, b *local.Backend, req *smol.ExecRequest) (events []smol.Event, err error) {
	for ev, e := range b.Stream(ctx, "m", req) {
		if e != nil {
			return events, e
		}
		events = append(events, ev)
	}
	return events, nil
}

func TestStream(t *testing.T) {
	const wrap = `{"command":["sh","-c","exec \"$@\" </dev/null","smol1","prog","-x"],"env":[{"name":"A","value":"b"}],"timeoutSecs":2,"workdir":"/w"}`
	exited := func(code int) smol.Event { return smol.Event{Exited: true, ExitCode: code} }
	for _, tt := range []struct {
		name, sse string
		want      []smol.Event
		says      string // of the error
		code      smol.Code
	}{
		{name: "output and exit", sse: "event: stdout\ndata: a\ndata: b\ndata: \n\n:\n\nevent: stderr\ndata: e\n\nevent: exit\ndata: {\"exitCode\":3}\n\n", want: []smol.Event{
			{Stream: "stdout", Text: "a\nb\n"}, {Stream: "stderr", Text: "e"}, exited(3),
		}},
		{name: "carriage returns", sse: "event: stdout\ndata: 10%\rdata: 20%\rdata: \ndata: x\n\nevent: exit\ndata: {\"exitCode\":0}\n\n", want: []smol.Event{
			{Stream: "stdout", Text: "10%\n20%\n\nx"}, exited(0),
		}},
		{name: "what is not known, and what comes after the end", sse: "event: usage\ndata: 1\n\ndata: unnamed\n\nevent: exit\ndata: {\"exitCode\":124}\n\nevent: stdout\ndata: late\n\n", want: []smol.Event{exited(124)}},
		{name: "error in JSON", sse: "event: error\ndata: {\"message\":\"agent went away\"}\n\n", says: "agent went away", code: smol.CodeInternal},
		{name: "error not quite in JSON", sse: "event: stdout\ndata: a\n\nevent: error\ndata: {\"message\":\"Internal(\"agent operation failed: streaming exec: no \\\"x\\\"\")\"}\n\n", want: []smol.Event{{Stream: "stdout", Text: "a"}}, says: `agent operation failed: streaming exec: no "x"`, code: smol.CodeInternal},
		{name: "too much output", sse: "event: error\ndata: {\"message\":\"streaming output exceeded 11534336 byte cap; exec terminated (output truncated)\"}\n\n", says: "11534336", code: smol.CodeInternal},
		{name: "exit without a code", sse: "event: exit\ndata: {}\n\n", says: "without an exit code", code: smol.CodeUnknown},
		{name: "exit that is no JSON", sse: "event: exit\ndata: 0\n\n", says: "without an exit code", code: smol.CodeUnknown},
		{name: "no exit", sse: "event: stdout\ndata: a\n\n", want: []smol.Event{{Stream: "stdout", Text: "a"}}, says: "cut", code: smol.CodeUnavailable},
		{name: "cut within the exit", sse: "event: exit\ndata: {\"exitCode\":0}\n", says: "cut", code: smol.CodeUnavailable},
		{name: "nothing", sse: "", says: "cut", code: smol.CodeUnavailable},
		{name: "an endless event", sse: "event: stdout\ndata: " + strings.Repeat("x", 2<<20), says: "longer than the limit", code: smol.CodeUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{streamRoute: says(tt.sse)})
			req := &smol.ExecRequest{Argv: []string{"prog", "-x"}, Env: []string{"A=b"}, Dir: "/w", Timeout: 1500 * time.Millisecond}
			got, err := collect(t.Context(), s.backend(), req)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.says == "" && err != nil {
				t.Error(err)
			}
			if tt.says != "" {
				if e := asError(t, err); e.Code != tt.code || !strings.Contains(e.Error(), tt.says) || e.Op != "stream" || e.Machine != "m" {
					t.Errorf("got %+v", e)
				}
			}
			if diff := cmp.Diff([]string{streamRoute + " " + wrap}, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStreamWithoutShell runs the command itself where there is no sh, since then nothing has run yet.
func TestStreamWithoutShell(t *testing.T) {
	for name, missing := range map[string]string{
		"bare":  "event: error\ndata: {\"message\":\"Internal(\"agent operation failed: streaming exec: failed to spawn command: No such file or directory (os error 2)\")\"}\n\n",
		"image": "event: stderr\ndata: crun: executable file `sh` not found in $PATH: No such file or directory\ndata: \n\nevent: exit\ndata: {\"exitCode\":1}\n\n",
	} {
		s := serve(t, answers{streamRoute: inTurn(says(missing), says("event: stdout\ndata: hi\n\nevent: exit\ndata: {\"exitCode\":0}\n\n"))})
		got, err := collect(t.Context(), s.backend(), &smol.ExecRequest{Argv: []string{"prog"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]smol.Event{{Stream: "stdout", Text: "hi"}, {Exited: true}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(streamRoute+` {"command":["prog"]}`, s.requests()[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		// Neither is there: that is the end of it.
		s = serve(t, answers{streamRoute: says(missing)})
		_, err = collect(t.Context(), s.backend(), &smol.ExecRequest{Argv: []string{"prog"}})
		if n := len(s.requests()); n != 2 {
			t.Errorf("%s: %d requests, %v", name, n, err)
		}
	}
	// A command that says so itself has run, and is not run again.
	s := serve(t, answers{streamRoute: says("event: stdout\ndata: a\n\nevent: stderr\ndata: executable file `sh` not found in $PATH\n\nevent: exit\ndata: {\"exitCode\":1}\n\n")})
	if got, err := collect(t.Context(), s.backend(), &smol.ExecRequest{Argv: []string{"prog"}}); err != nil || len(got) != 3 || len(s.requests()) != 1 {
		t.Errorf("%v, %v, %q", got, err, s.requests())
	}
}

// forever sends one event and goes on until the client hangs up, which it reports.
func forever(event string, hungUp chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, event)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(hungUp)
	}
}

func TestStreamsAreLeft(t *testing.T) {
	for _, how := range []string{"break", "cancel"} {
		t.Run(how, func(t *testing.T) {
			hungUp := make(chan struct{})
			s := serve(t, answers{streamRoute: forever("event: stdout\ndata: a\n\n", hungUp)})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			for ev, err := range s.backend().Stream(ctx, "m", &smol.ExecRequest{Argv: []string{"prog"}}) {
				if n++; n == 1 && (err != nil || ev.Text != "a") {
					t.Errorf("got %+v, %v", ev, err)
				}
				if how == "break" {
					break
				}
				cancel()
				if n == 2 && !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			}
			<-hungUp
			if how == "cancel" && n != 2 {
				t.Errorf("%d pairs", n)
			}
		})
	}
}

func TestStreamError(t *testing.T) {
	for in, want := range map[string]string{
		`{"message":"plain"}`:                    "plain",
		`{"message":"two\nlines"}`:               "two\nlines",
		"{\"message\":\"two\nlines\"}":           "two\nlines",
		`{"message":"a "quoted" word"}`:          `a "quoted" word`,
		`{"message":"back\slash"}`:               `back\slash`,
		`{"message":"Internal("it \"broke\"")"}`: `it "broke"`,
		`{"message":"Internal(\"it\")"}`:         "it",
		`not even that`:                          "not even that",
		`{"message":""}`:                         "",
		"":                                       "",
	} {
		if got := local.StreamError(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzStreamError(f *testing.F) {
	for _, s := range []string{`{"message":"a"}`, `{"message":"Internal("a")"}`, `{"message":"("`, `("`, `{"message":"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if got := local.StreamError(data); len(got) > 3*len(data)+3 {
			t.Errorf("%q became %q", data, got)
		}
	})
}
