package smol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// answers makes every command of the fake end so.
func answers(code int, stdout, stderr string) func(context.Context, []string) fakeEnd {
	return func(context.Context, []string) fakeEnd { return fakeEnd{code, stdout, stderr} }
}

// hangs lets a command run until it is killed.
func hangs(ctx context.Context, _ []string) fakeEnd {
	<-ctx.Done()
	return fakeEnd{code: 137}
}

func TestCmdCostsOneRoundTrip(t *testing.T) {
	f, m := newFakeMachine()
	f.command = answers(0, "out\n", "err\n")
	var stdout, stderr bytes.Buffer
	c := m.Command("prog", "a b", "")
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "out\n" || stderr.String() != "err\n" {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
	want := &smol.CmdState{Duration: 2 * time.Second}
	if diff := cmp.Diff(want, c.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if n := f.count("exec"); n != 1 {
		t.Errorf("%d execs, want 1", n)
	}
	if diff := cmp.Diff([]string{"prog a b "}, f.runs); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

func TestCmdExit(t *testing.T) {
	long := strings.Repeat("x", 16<<10) + strings.Repeat("y", 1000) + strings.Repeat("z", 16<<10)
	tests := []struct {
		name string
		end  fakeEnd
		cmd  func(*smol.Cmd)
		want *smol.ExitError
		text string
	}{
		{name: "success"},
		{name: "status", end: fakeEnd{2, "", "no"}, want: &smol.ExitError{Code: 2, Stderr: []byte("no")}, text: "exit status 2"},
		{
			name: "not found", end: fakeEnd{code: 127}, text: "exit status 127",
			want: &smol.ExitError{Code: 127, Hint: "the program was not found in the machine; look at its PATH"},
		},
		{
			name: "stderr has a writer", end: fakeEnd{1, "", "no"}, cmd: func(c *smol.Cmd) { c.Stderr = io.Discard },
			want: &smol.ExitError{Code: 1}, text: "exit status 1",
		},
		{
			name: "long stderr", end: fakeEnd{1, "", long}, text: "exit status 1",
			want: &smol.ExitError{Code: 1, Stderr: []byte(strings.Replace(long, strings.Repeat("y", 1000), "\n... 1000 bytes left out ...\n", 1))},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, m := newFakeMachine()
			f.command = func(context.Context, []string) fakeEnd { return tt.end }
			c := m.Command("prog")
			if tt.cmd != nil {
				tt.cmd(c)
			}
			err := c.Run(t.Context())
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var exit *smol.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("got %v, want an ExitError", err)
			}
			if diff := cmp.Diff(tt.want, exit); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err.Error() != tt.text {
				t.Errorf("text %q, want %q", err, tt.text)
			}
			if c.State == nil || c.State.ExitCode != tt.want.Code {
				t.Errorf("state %+v", c.State)
			}
		})
	}
}

func TestCmdTimeout(t *testing.T) {
	f, m := newFakeMachine()
	f.command = hangs
	c := m.Command("prog")
	c.Timeout = 20 * time.Millisecond
	err := c.Run(t.Context())
	var exit *smol.ExitError
	if !errors.As(err, &exit) || !exit.TimedOut || exit.Code != 124 || err.Error() != "timed out after 20ms" {
		t.Errorf("got %#v, want a time-out with code 124", err)
	}
}

func TestCmdOutput(t *testing.T) {
	f, m := newFakeMachine()
	f.command = answers(3, "out", "err")
	out, err := m.Command("prog").Output(t.Context())
	var exit *smol.ExitError
	if string(out) != "out" || !errors.As(err, &exit) || string(exit.Stderr) != "err" {
		t.Errorf("got %q and %v", out, err)
	}
	// Standard error of its own then holds only what the runner says, which nobody else would report.
	f.command = answers(3, "out", "runner")
	c := m.Shell("prog")
	out, err = c.CombinedOutput(t.Context())
	if !errors.As(err, &exit) || string(out) != "outrunner" {
		t.Errorf("got %q and %v", out, err)
	}
	// The two streams become one in the machine, where their order is known.
	if got, want := f.runs[1], `sh -c exec "$@" 2>&1 sh sh -c prog`; got != want {
		t.Errorf("ran %q, want %q", got, want)
	}
}

func TestCmdMisuse(t *testing.T) {
	f, m := newFakeMachine()
	set := func(c *smol.Cmd) *smol.Cmd { c.Stdout = io.Discard; return c }
	used := m.Command("prog")
	if err := used.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(f.calls)
	tests := []struct {
		name string
		do   func() error
		text string
	}{
		{"Output with Stdout", func() error { _, err := set(m.Command("p")).Output(t.Context()); return err }, "Cmd.Stdout"},
		{"CombinedOutput with Stdout", func() error { _, err := set(m.Command("p")).CombinedOutput(t.Context()); return err }, "Cmd.Stdout"},
		{"run again", func() error { return used.Run(t.Context()) }, "already started"},
		{"start again", func() error { return used.Start(t.Context()) }, "already started"},
		{"wait again", func() error { return used.Wait() }, "already called"},
		{"wait before start", func() error { return m.Command("p").Wait() }, "not started"},
		{"signal before start", func() error { return m.Command("p").Signal(t.Context(), smol.Kill) }, "not started"},
		{"unknown signal", func() error { return used.Signal(t.Context(), "WINCH") }, "WINCH"},
	}
	for _, tt := range tests {
		err := tt.do()
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want an invalid error with %q", tt.name, err, tt.text)
		}
	}
	if err := used.Signal(t.Context(), smol.Terminate); !errors.Is(err, smol.ErrConflict) {
		t.Errorf("signal after the end: got %v, want a conflict", err)
	}
	if len(f.calls) != before {
		t.Errorf("misuse was sent: %q", f.calls[before:])
	}
}

func TestCmdHostile(t *testing.T) {
	cmdOf := func(set func(*smol.Cmd)) func(*smol.Machine) *smol.Cmd {
		return func(m *smol.Machine) *smol.Cmd { c := m.Command("prog"); set(c); return c }
	}
	env := func(e string) func(*smol.Machine) *smol.Cmd {
		return cmdOf(func(c *smol.Cmd) { c.Env = []string{"OK=1", e} })
	}
	tests := []struct {
		field string
		cmd   func(*smol.Machine) *smol.Cmd
	}{
		{"Cmd.Args", func(m *smol.Machine) *smol.Cmd { return m.Command("") }},
		{"Cmd.Args", cmdOf(func(c *smol.Cmd) { c.Args = nil })},
		{"Cmd.Args[0]", func(m *smol.Machine) *smol.Cmd { return m.Command("a\x00b") }},
		{"Cmd.Args[2]", func(m *smol.Machine) *smol.Cmd { return m.Command("p", "ok", "\xff") }},
		{"Cmd.Args[2]", func(m *smol.Machine) *smol.Cmd { return m.Shell("a\x00b") }},
		{"Cmd.Env[1]", env("")},
		{"Cmd.Env[1]", env("=x")},
		{"Cmd.Env[1]", env("NOVALUE")},
		{"Cmd.Env[1]", env("A B=x")},
		{"Cmd.Env[1]", env("a/b=x")},
		{"Cmd.Env[1]", env("1A=x")},
		{"Cmd.Env[1]", env("A=\x00")},
		{"Cmd.Env[1]", env("A=\xff")},
		{"Cmd.Env[1]", env(strings.Repeat("A", 257) + "=x")},
		{"Cmd.Env[1]", env("SMOL_JOB=x")},
		{"Cmd.Dir", cmdOf(func(c *smol.Cmd) { c.Dir = "a/b" })},
		{"Cmd.Dir", cmdOf(func(c *smol.Cmd) { c.Dir = ".." })},
		{"Cmd.Dir", cmdOf(func(c *smol.Cmd) { c.Dir = "/a\x00" })},
		{"Cmd.User", cmdOf(func(c *smol.Cmd) { c.User = "\xff" })},
		{"Cmd.Timeout", cmdOf(func(c *smol.Cmd) { c.Timeout = -1 })},
	}
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	m := l.Service(t).Machine("web")
	for i, tt := range tests {
		err := tt.cmd(m).Run(t.Context())
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), tt.field) {
			t.Errorf("row %d: got %v, want an invalid error that names %s", i, err, tt.field)
		}
	}
	wantNoRequests(t, l)
}

// errorWriter fails after a number of bytes.
type errorWriter struct {
	bytes.Buffer
	left int
	err  error
}

func (w *errorWriter) Write(p []byte) (int, error) {
	n := min(w.left, len(p))
	w.left -= n
	w.Buffer.Write(p[:n])
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

func TestCmdWriterFails(t *testing.T) {
	full := errors.New("disk full")
	tests := []struct {
		name string
		code int
		err  error
		want error
	}{
		{"error", 0, full, full},
		{"short write", 0, nil, io.ErrShortWrite},
		{"the exit code goes first", 5, full, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, m := newFakeMachine()
			f.command = answers(tt.code, strings.Repeat("x", 3<<20), "err")
			w := &errorWriter{left: 100_000, err: tt.err}
			var stderr bytes.Buffer
			c := m.Command("prog")
			c.Stdout, c.Stderr = w, &stderr
			err := c.Run(t.Context())
			var exit *smol.ExitError
			if tt.want != nil && err != tt.want || tt.want == nil && !errors.As(err, &exit) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if w.Len() != 100_000 || stderr.String() != "err" {
				t.Errorf("%d bytes on stdout, %q on stderr", w.Len(), &stderr)
			}
			if n := f.count("exec"); n != 1 {
				t.Errorf("%d execs: output that nobody takes was fetched", n)
			}
		})
	}
}

// TestCmdLongOutput: output beyond what one reply brings arrives whole and in order.
func TestCmdLongOutput(t *testing.T) {
	var want strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&want, "%07d\n", i)
	}
	f, m := newFakeMachine()
	f.command = answers(0, want.String(), want.String()[:1<<20+5])
	var stdout, stderr bytes.Buffer
	c := m.Command("prog")
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != want.String() || stderr.String() != want.String()[:1<<20+5] {
		t.Errorf("%d and %d bytes, not those of the command", stdout.Len(), stderr.Len())
	}
}

// TestCmdLongArgumentsNeedFiles: a fleet without a way for files cannot carry them, and nothing is run.
func TestCmdLongArgumentsNeedFiles(t *testing.T) {
	f, m := newFakeMachine()
	arg := strings.Repeat("x", 100<<10)
	if err := m.Command("prog", arg, arg).Run(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if f.count("exec") != 0 {
		t.Errorf("calls %q", f.calls)
	}
}

func TestCmdThrownAwayOutputIsNotFetched(t *testing.T) {
	f, m := newFakeMachine()
	f.command = answers(0, strings.Repeat("x", 5<<20), strings.Repeat("y", 5<<20))
	if err := m.Command("prog").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.count("exec"); n > 2 {
		t.Errorf("%d execs for output that nobody wants", n)
	}
}

func TestCmdPanics(t *testing.T) {
	tests := []struct {
		name string
		set  func(*smol.Cmd)
	}{
		{"writer", func(c *smol.Cmd) { c.Stdout = writerFunc(func([]byte) (int, error) { panic("mine") }) }},
		{"reader", func(c *smol.Cmd) { c.Stdin = readerFunc(func([]byte) (int, error) { panic("mine") }) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, m := newFakeMachine()
			f.command = answers(0, "x", "")
			defer func() {
				if p := recover(); p != "mine" {
					t.Errorf("recovered %v", p)
				}
			}()
			c := m.Command("prog")
			tt.set(c)
			t.Errorf("returned %v", c.Run(t.Context()))
		})
	}
}

func TestCmdWriterLeavesItsGoroutine(t *testing.T) {
	f, m := newFakeMachine()
	f.command = answers(0, "x", "")
	c := m.Command("prog")
	c.Stdout = writerFunc(func([]byte) (int, error) { runtime.Goexit(); return 0, nil })
	if err := c.Run(t.Context()); err == nil {
		t.Error("no error")
	}
}

type (
	writerFunc func([]byte) (int, error)
	readerFunc func([]byte) (int, error)
)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
func (f readerFunc) Read(p []byte) (int, error)  { return f(p) }
