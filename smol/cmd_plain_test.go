package smol_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/smol"
)

// bare makes f a machine whose image has no shell; answers of it come as missing says.
func bare(f *fake, missing func() (*smol.ExecResult, error)) {
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		if req.Argv[0] == "sh" {
			res, err := missing()
			return res, err, true
		}
		return nil, nil, false
	}
}

// noShell is how services say that there is no sh.
var noShell = map[string]func() (*smol.ExecResult, error){
	"image machine": func() (*smol.ExecResult, error) {
		return &smol.ExecResult{ExitCode: 1, Stderr: []byte("executable file `sh` not found in $PATH: No such file or directory")}, nil
	},
	"bare machine": func() (*smol.ExecResult, error) {
		return nil, &smol.Error{
			Code: smol.CodeInternal, Status: 500,
			Message: "agent operation failed: vm exec: failed to spawn command: No such file or directory (os error 2)",
		}
	},
	"exit code": func() (*smol.ExecResult, error) { return &smol.ExecResult{ExitCode: 127}, nil },
}

// TestCmdWithoutShell: the command runs once, over the fleet's own wire, and the state says what that costs.
func TestCmdWithoutShell(t *testing.T) {
	for name, missing := range noShell {
		t.Run(name, func(t *testing.T) {
			f, m := newFakeMachine()
			bare(f, missing)
			f.command = answers(4, "out", "err")
			for i := range 2 {
				var out, errs bytes.Buffer
				c := m.Command("/prog", "x")
				c.Stdout, c.Stderr = &out, &errs
				err := c.Run(t.Context())
				var exit *smol.ExitError
				if !errors.As(err, &exit) || exit.Code != 4 || out.String() != "out" || errs.String() != "err" {
					t.Errorf("got %q, %q and %v", &out, &errs, err)
				}
				if c.State == nil || !strings.Contains(c.State.Missing, "no POSIX shell") || !strings.Contains(c.State.Missing, "dies with the connection") {
					t.Errorf("state %+v does not say what is missing", c.State)
				}
				if f.ran() != i+1 {
					t.Errorf("ran %d times, want %d", f.ran(), i+1)
				}
			}
			// The first command finds it out and makes sure; the second remembers.
			if n := f.count("exec"); n != 3+1 {
				t.Errorf("%d execs for two commands, want 4", n)
			}
			out, err := m.Command("/prog").CombinedOutput(t.Context())
			if string(out) != "outerr" || err == nil {
				t.Errorf("combined: %q and %v", out, err)
			}
		})
	}
}

func TestCmdWithoutShellRefusesStdin(t *testing.T) {
	f, m := newFakeMachine()
	bare(f, noShell["image machine"])
	c := m.Command("/prog")
	c.Stdin = strings.NewReader("x")
	err := c.Run(t.Context())
	var e *smol.Error
	if !errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &e) || !strings.Contains(e.Message, "Cmd.Stdin") || e.Hint == "" {
		t.Errorf("got %v, want an error that says why there is no input", err)
	}
	if f.ran() != 0 {
		t.Error("the command ran without its input")
	}
}

// TestCmdWithoutShellCreate: such a machine can be created, and its commands see the environment of the spec.
func TestCmdWithoutShellCreate(t *testing.T) {
	f := newFake()
	bare(f, noShell["image machine"])
	m, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Env: map[string]string{"B": "2", "A": "1"}, Dir: "/d"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got *smol.ExecRequest
	inner := f.exec
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) { got = req; return inner(req) }
	c := m.Command("/prog")
	c.Env = []string{"C=3"}
	c.Timeout = time.Minute
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got.Env, " ") != "A=1 B=2 C=3" || got.Dir != "/d" || got.Timeout != time.Minute {
		t.Errorf("ran with %+v", got)
	}
}

func TestCmdWithoutShellCancelled(t *testing.T) {
	f, m := newFakeMachine()
	bare(f, noShell["exit code"])
	ctx, cancel := context.WithCancel(t.Context())
	f.command = func(ctx context.Context, _ []string) fakeEnd { cancel(); <-ctx.Done(); return fakeEnd{} }
	err := m.Command("/prog").Run(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "may still run") {
		t.Errorf("got %v", err)
	}
	if f.count("exec signal") != 0 {
		t.Error("a signal was sent to where none can be")
	}
}

// TestCmdGarbledReplyRunsOnce: a reply that is not the runner's, from a machine that has a shell, is no reason to run the command again.
func TestCmdGarbledReplyRunsOnce(t *testing.T) {
	for name, reply := range map[string]*smol.ExecResult{
		"empty":         {},
		"html":          {Stdout: []byte("<html>")},
		"as without sh": {ExitCode: 127},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.command = answers(0, "out", "")
				n := 0
				f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
					parsed, _ := guest.Parse(req.Argv)
					if s, ok := parsed.(*guest.Start); ok {
						if n++; n == 1 {
							_, _ = f.answer(t.Context(), f.machines["web"], s)
							return reply, nil, true
						}
					}
					return nil, nil, false
				}
				out, err := m.Command("prog").Output(t.Context())
				if err != nil || string(out) != "out" || f.ran() != 1 {
					t.Errorf("got %q and %v, ran %d times", out, err, f.ran())
				}
			})
		})
	}
}

// TestCmdWithoutBase: nothing of ours can be written in the machine, so the command goes over the wire, this time.
func TestCmdWithoutBase(t *testing.T) {
	f, m := newFakeMachine()
	full := true
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		if _, ok := guest.Parse(req.Argv); ok && full {
			return &smol.ExecResult{ExitCode: 3, Stdout: guest.EncodeError(guest.ErrNoBase)}, nil, true
		}
		return nil, nil, false
	}
	c := m.Command("prog")
	if err := c.Run(t.Context()); err != nil || c.State.Missing == "" {
		t.Errorf("got %v and %+v", err, c.State)
	}
	full = false
	c = m.Command("prog")
	if err := c.Run(t.Context()); err != nil || c.State.Missing != "" {
		t.Errorf("got %v and %+v", err, c.State)
	}
	if f.ran() != 2 {
		t.Errorf("ran %d times, want 2", f.ran())
	}
}
