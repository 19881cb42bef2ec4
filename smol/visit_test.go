package smol_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// newFakeMachineOfFiles returns a machine that says of each work on files that it is done.
func newFakeMachineOfFiles() (*fake, *smol.Machine) {
	f, m := newFakeMachine()
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		if len(req.Argv) < 5 || req.Argv[3] != "smolfs" {
			return nil, nil, false
		}
		return &smol.ExecResult{Stdout: []byte("smolfs1 ok /workspace/.smol\n")}, nil, true
	}
	return f, m
}

// becomes are what can happen to a machine between two calls of one operation.
var becomes = []struct {
	name string
	info smol.Info // State "": the machine is gone
	want error
}{
	{"stopped", smol.Info{State: smol.StateStopped, CreatedAt: time.Unix(1, 0), PID: 10}, smol.ErrConflict},
	{"deleted", smol.Info{}, smol.ErrNotFound},
	{"another one", smol.Info{State: smol.StateRunning, CreatedAt: time.Unix(2, 0), PID: 11}, smol.ErrNotFound},
	{"another one that is stopped", smol.Info{State: smol.StateStopped, CreatedAt: time.Unix(2, 0)}, smol.ErrConflict},
	{"another one of the same second", smol.Info{State: smol.StateRunning, CreatedAt: time.Unix(1, 0), PID: 11}, smol.ErrConflict},
}

// become changes the machine. Without a state it is deleted.
func (f *fake) become(info smol.Info) {
	if info.Name, info.ID = "web", "web"; info.State != "" {
		f.add(info)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.machines, "web")
}

// TestVisitEnds wants no more of an operation on files in a machine that is not the one it began in, and no boot of one that was stopped.
func TestVisitEnds(t *testing.T) {
	for _, tt := range becomes {
		t.Run(tt.name, func(t *testing.T) {
			f, m := newFakeMachineOfFiles()
			f.become(smol.Info{State: smol.StateStopped, CreatedAt: time.Unix(1, 0), PID: 10}) // the first call may boot it
			calls := 0
			f.after = func(_ context.Context, call string) error {
				if strings.HasPrefix(call, "exec") {
					if calls++; calls == 2 {
						f.become(tt.info)
					}
				}
				return nil
			}
			err := m.Put(t.Context(), "/f", bytes.NewReader(make([]byte, 1<<20)), nil)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
			late := 0 // the stage of an operation in the same machine is removed
			if !errors.Is(tt.want, smol.ErrNotFound) && tt.info.State == smol.StateRunning {
				late = 1
			}
			if calls != 2+late || f.count("start") != 1 {
				t.Errorf("%d calls, want %d; %d starts", calls, 2+late, f.count("start"))
			}
		})
	}
}

// TestVisitOfCommand starts no command in a machine that is not the one that it was sent to.
func TestVisitOfCommand(t *testing.T) {
	for _, tt := range becomes {
		t.Run(tt.name, func(t *testing.T) {
			f, m := newFakeMachine()
			f.become(smol.Info{State: smol.StateRunning, CreatedAt: time.Unix(1, 0), PID: 10})
			f.after = func(_ context.Context, call string) error {
				if call == "exec start" {
					f.become(tt.info)
					return errLost
				}
				return nil
			}
			if err := m.Command("prog").Run(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
			if f.ran() > 1 || f.count("start") != 0 || f.count("exec start") != 1 {
				t.Errorf("%d runs, calls %q", f.ran(), f.calls)
			}
		})
	}
}
