package smol_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// TestCmdCancelled: wherever the command is when its context ends, it is dead afterwards, and the call over within a second.
func TestCmdCancelled(t *testing.T) {
	reason := errors.New("user pressed a key")
	during := func(call string, n int) func(context.CancelCauseFunc) func(context.Context, string) error {
		return func(cancel context.CancelCauseFunc) func(context.Context, string) error {
			return at(call, n, func(ctx context.Context) error { cancel(reason); return ctx.Err() })
		}
	}
	tests := []struct {
		name   string
		before func(context.CancelCauseFunc) func(context.Context, string) error
		after  func(context.CancelCauseFunc) func(context.Context, string) error
		later  time.Duration
		ran    int
		kills  int
	}{
		{name: "while it runs", later: 12 * time.Second, ran: 1, kills: 1},
		{name: "at once", later: time.Millisecond, ran: 1, kills: 1},
		{name: "on the way", before: during("exec start", 1), ran: 0, kills: 1},
		{name: "on the way back", after: during("exec start", 1), ran: 1, kills: 1},
		{name: "before the start", before: during("inspect web", 1), ran: 0, kills: 0},
		{name: "in a poll", before: during("exec poll", 1), ran: 1, kills: 1},
		{name: "between two polls", after: during("exec poll", 2), ran: 1, kills: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				dead := 0
				f.command = func(ctx context.Context, _ []string) fakeEnd { <-ctx.Done(); dead++; return fakeEnd{code: 137} }
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				ended := make(chan time.Time, 1)
				context.AfterFunc(ctx, func() { ended <- time.Now() })
				if tt.before != nil {
					f.before = tt.before(cancel)
				}
				if tt.after != nil {
					f.after = tt.after(cancel)
				}
				if tt.later > 0 {
					time.AfterFunc(tt.later, func() { cancel(reason) })
				}
				err := m.Command("prog").Run(ctx)
				if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
					t.Errorf("got %v, want context.Canceled and its cause", err)
				}
				if strings.Contains(err.Error(), "may still run") {
					t.Errorf("the kill was not confirmed: %v", err)
				}
				if d := time.Since(<-ended); d > time.Second {
					t.Errorf("returned %v after the end of the context", d)
				}
				synctest.Wait()
				if f.ran() != tt.ran || dead != tt.ran {
					t.Errorf("%d commands ran and %d are dead, want %d", f.ran(), dead, tt.ran)
				}
				if n := f.count("exec signal"); n != tt.kills {
					t.Errorf("%d kills, want %d", n, tt.kills)
				}
			})
		})
	}
}

func TestCmdDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.command = hangs
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := m.Command("prog").Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestCmdKillFails: the caller is not held up, and is told.
func TestCmdKillFails(t *testing.T) {
	tests := []struct {
		name   string
		signal func(ctx context.Context) error
	}{
		{"refused", fails(&smol.Error{Code: smol.CodeUnauthenticated, Status: 401})},
		{"no answer", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		{"errors", fails(errLost)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.command = sleeps(time.Minute)
				f.before = func(ctx context.Context, call string) error {
					if call == "exec signal" {
						return tt.signal(ctx)
					}
					return nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				began := time.Now()
				err := m.Command("prog").Run(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "may still run") {
					t.Errorf("got %v", err)
				}
				if d := time.Since(began); d > 4*time.Second {
					t.Errorf("took %v", d)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCmdKillAfterStop: a machine that has stopped has no commands left, and is not booted to kill one.
func TestCmdKillAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.command = sleeps(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, func() { f.set("web", smol.StateStopped); cancel() })
		err := m.Command("prog").Run(ctx)
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "may still run") {
			t.Errorf("got %v", err)
		}
		if f.count("exec signal")+f.count("start") != 0 {
			t.Errorf("calls: %q", f.calls)
		}
		time.Sleep(time.Minute)
	})
}

// TestCmdStuckCaller: a writer or reader that does not return holds up neither the kill nor the call.
func TestCmdStuckCaller(t *testing.T) {
	tests := []struct {
		name  string
		set   func(c *smol.Cmd, r io.Reader, w io.Writer)
		kills int
	}{
		{"writer", func(c *smol.Cmd, _ io.Reader, w io.Writer) { c.Stdout = w }, 0},
		{"reader", func(c *smol.Cmd, r io.Reader, _ io.Writer) { c.Stdin = r }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.command = answers(0, "some output", "")
				r, w := io.Pipe()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				c := m.Command("prog")
				tt.set(c, r, w)
				began := time.Now()
				if err := c.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if d := time.Since(began); d > 4*time.Second {
					t.Errorf("took %v", d)
				}
				r.Close()
				w.Close()
			})
		})
	}
}

func TestCmdStartAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.command = sleeps(12 * time.Second)
		var out bytes.Buffer
		c := m.Command("prog")
		c.Stdout = &out
		began := time.Now()
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("Start took %v: it waits for the end", d)
		}
		synctest.Wait()
		if f.ran() != 1 {
			t.Error("Start returned before the command had started")
		}
		if err := c.Wait(); err != nil || out.String() != "done" {
			t.Errorf("got %q and %v", &out, err)
		}
	})
}

func TestCmdStartFails(t *testing.T) {
	f, m := newFakeMachine()
	f.set("web", smol.StatePaused)
	c := m.Command("prog")
	if err := c.Start(t.Context()); !errors.Is(err, smol.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	f.wantCalls(t, "inspect web", "inspect web") // the name, then the state
}

func TestCmdSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.command = hangs
		c := m.Command("prog")
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			if err := c.Signal(t.Context(), smol.Interrupt); err != nil {
				t.Error(err)
			}
		})
		err := c.Wait()
		var exit *smol.ExitError
		if !errors.As(err, &exit) || exit.Code != 130 || exit.Signal != smol.Interrupt || err.Error() != "signal: INT" {
			t.Errorf("got %#v", err)
		}
		if c.State.Signal != smol.Interrupt {
			t.Errorf("state %+v", c.State)
		}
	})
}
