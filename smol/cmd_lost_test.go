package smol_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/smol"
)

// TestCmdReplyLost: whatever is lost on the way, the command runs at most once and its end is found.
func TestCmdReplyLost(t *testing.T) {
	garbled := func(*smol.ExecRequest) (*smol.ExecResult, error, bool) {
		return &smol.ExecResult{Stdout: []byte("<html>")}, nil, true
	}
	tests := []struct {
		name          string
		before, after func(context.Context, string) error
		garble        int // from which exec on, and to which, replies are garbage
		starts        int
		ran           int
		want          error
	}{
		{name: "reply to the start", after: at("exec start", 1, fails(errLost)), starts: 1, ran: 1},
		{name: "the start itself", before: at("exec start", 1, fails(errLost)), starts: 2, ran: 1},
		{name: "408", after: at("exec start", 1, fails(&smol.Error{Code: smol.CodeUnknown, Status: 408})), starts: 1, ran: 1},
		{name: "500", before: at("exec start", 1, fails(&smol.Error{Code: smol.CodeInternal, Status: 500})), starts: 2, ran: 1},
		{
			name: "start and polls", before: at("exec poll", 1, fails(errLost)), after: at("exec start", 1, fails(errLost)),
			starts: 1, ran: 1,
		},
		{name: "every start", before: each("exec start", errLost), starts: 3, ran: 0, want: errLost},
		{name: "every reply to a start", after: each("exec start", errLost), starts: 1, ran: 1},
		{name: "every poll", before: each("exec poll", errLost), after: each("exec start", errLost), starts: 1, ran: 1, want: errLost},
		{name: "refused", before: each("exec start", &smol.Error{Code: smol.CodeInvalid, Status: 400}), starts: 1, want: smol.ErrInvalid},
		{name: "garbage", garble: 1, starts: 1, ran: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.before, f.after = tt.before, tt.after
				f.command = answers(0, "out", "")
				if tt.garble > 0 {
					f.exec = garbled
					time.AfterFunc(time.Second, func() { f.mu.Lock(); f.exec = nil; f.mu.Unlock() })
				}
				out, err := m.Command("prog").Output(t.Context())
				switch {
				case tt.garble > 0: // the command is started in the end
				case tt.want == nil && (err != nil || string(out) != "out"):
					t.Errorf("got %q and %v", out, err)
				case tt.want != nil && !is(err, tt.want):
					t.Errorf("got %q and %v, want %v", out, err, tt.want)
				}
				if n := f.count("exec start"); tt.garble == 0 && n != tt.starts {
					t.Errorf("sent %d times, want %d", n, tt.starts)
				}
				if n := f.ran(); tt.garble == 0 && n != tt.ran || n > 1 {
					t.Errorf("ran %d times, want %d", n, tt.ran)
				}
			})
		})
	}
}

// each fails every call of that name.
func each(call string, err error) func(context.Context, string) error {
	return func(_ context.Context, c string) error {
		if c == call {
			return err
		}
		return nil
	}
}

// sleeps lets a command run for a while.
func sleeps(d time.Duration) func(context.Context, []string) fakeEnd {
	return func(ctx context.Context, _ []string) fakeEnd {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		return fakeEnd{stdout: "done"}
	}
}

// TestCmdLongRun: a wait holds no call for longer than five seconds, and the state is asked before each.
func TestCmdLongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.command = sleeps(58 * time.Second)
		out, err := m.Command("prog").Output(t.Context())
		if err != nil || string(out) != "done" {
			t.Fatalf("got %q and %v", out, err)
		}
		if n := f.count("exec"); n != 12 {
			t.Errorf("%d execs in 58 s, want 12", n)
		}
		if n := f.count("inspect"); n < 12 {
			t.Errorf("the state was asked %d times for 12 execs", n)
		}
	})
}

// TestCmdOutage: a server that is away for a while does not lose the command.
func TestCmdOutage(t *testing.T) {
	refused := &smol.Error{Code: smol.CodeUnavailable, Err: &netOpError, Message: "connection refused"}
	tests := []struct {
		name string
		away time.Duration
		want error
	}{
		{"short", 20 * time.Second, nil},
		{"long", time.Hour, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.command = sleeps(40 * time.Second)
				began := time.Now()
				f.before = func(context.Context, string) error {
					if d := time.Since(began); d > 8*time.Second && d < 8*time.Second+tt.away {
						return refused
					}
					return nil
				}
				err := m.Command("prog").Run(t.Context())
				if tt.want == nil && err != nil || tt.want != nil && !is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				var e *smol.Error
				if tt.want != nil && (!errors.As(err, &e) || !strings.Contains(e.Hint, "may still run")) {
					t.Errorf("%v does not say that the command may still run", err)
				}
				if time.Since(began) > time.Minute {
					t.Errorf("took %v", time.Since(began))
				}
				if f.ran() != 1 {
					t.Errorf("ran %d times", f.ran())
				}
				time.Sleep(time.Hour) // for the fake's command
			})
		})
	}
}

// TestCmdMachineStops: a command dies with its machine, and asking for it boots nothing.
func TestCmdMachineStops(t *testing.T) {
	for _, state := range []smol.State{smol.StateStopped, smol.StateFailed, smol.StateFrozen, smol.StateDeleted} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.command = sleeps(time.Hour)
				time.AfterFunc(7*time.Second, func() { f.set("web", state) })
				err := m.Command("prog").Run(t.Context())
				var got *smol.StateError
				if !errors.As(err, &got) || got.Got != state || !errors.Is(err, smol.ErrConflict) {
					t.Errorf("got %v, want a StateError", err)
				}
				if n := f.count("start"); n != 0 {
					t.Error("the machine was booted")
				}
				if n := f.count("exec poll"); n > 2 {
					t.Errorf("%d polls, some after the machine stopped", n)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestCmdMachinePauses: a paused machine keeps its commands; nothing is sent to it, and the command's end is seen after it was resumed.
func TestCmdMachinePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.command = sleeps(200 * time.Second)
		c := m.Command("prog")
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		f.set("web", smol.StatePaused)
		time.Sleep(9 * time.Second)
		polls := f.count("exec")
		time.Sleep(2 * time.Minute)
		if n := f.count("exec"); n != polls {
			t.Errorf("%d execs were sent to the paused machine", n-polls)
		}
		f.set("web", smol.StateRunning)
		if err := c.Wait(); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestCmdLost(t *testing.T) {
	f, m := newFakeMachine()
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		r := guest.Reply{State: guest.Lost, Base: "/b"}
		return &smol.ExecResult{Stdout: r.Encode()}, nil, true
	}
	c := m.Command("prog")
	err := c.Run(t.Context())
	if !errors.Is(err, smol.ErrUnavailable) || !strings.Contains(err.Error(), "lost") || c.State != nil {
		t.Errorf("got %v and state %v", err, c.State)
	}
}

// TestCmdFilesGo: what has been read is let go with the next start, at no extra call.
func TestCmdFilesGo(t *testing.T) {
	f, m := newFakeMachine()
	var starts []*guest.Start
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		if parsed, _ := guest.Parse(req.Argv); parsed != nil {
			starts = append(starts, parsed.(*guest.Start))
		}
		return nil, nil, false
	}
	for range 3 {
		if err := m.Command("prog").Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count("exec"); n != 3 {
		t.Errorf("%d execs, want 3", n)
	}
	for i := 1; i < len(starts); i++ {
		if acks := starts[i].Ack; len(acks) != 1 || acks[0] != starts[i-1].ID {
			t.Errorf("start %d lets go of %v, want %v", i, acks, starts[i-1].ID)
		}
	}
}
