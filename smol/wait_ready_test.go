package smol_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

func TestWaitReady(t *testing.T) {
	exit1 := &smol.ExecResult{ExitCode: 1}
	noShell := &smol.ExecResult{ExitCode: 1, Stderr: []byte("executable file `sh` not found in $PATH: No such file or directory")}
	tests := []struct {
		name   string
		state  smol.State
		later  smol.State       // after ten seconds
		result *smol.ExecResult // of execs in the first ten seconds
		err    error            // the same
		want   error            // nil: ready
		got    smol.State       // of the StateError wanted
		took   [2]time.Duration // at least and at most
		states []smol.State
	}{
		{name: "running", state: "running", states: []smol.State{"running"}},
		{name: "boots", state: "starting", later: "running", took: [2]time.Duration{10 * time.Second, 12 * time.Second}, states: []smol.State{"starting", "running"}},
		{name: "is created", state: "creating", later: "running", took: [2]time.Duration{10 * time.Second, 12 * time.Second}},
		{name: "recovers", state: "unreachable", later: "running", took: [2]time.Duration{10 * time.Second, 12 * time.Second}},
		{name: "stopped", state: "stopped", want: smol.ErrConflict, got: "stopped"},
		{name: "failed", state: "failed", want: smol.ErrConflict, got: "failed"},
		{name: "frozen", state: "frozen", want: smol.ErrConflict, got: "frozen"},
		{name: "paused", state: "paused", want: smol.ErrConflict, got: "paused"},
		{name: "pausing", state: "pausing", want: smol.ErrConflict, got: "pausing"},
		{name: "deleted", state: "deleted", want: smol.ErrConflict, got: "deleted"},
		{name: "fails to boot", state: "starting", later: "failed", want: smol.ErrConflict, got: "failed", took: [2]time.Duration{10 * time.Second, 12 * time.Second}},
		{name: "never boots", state: "starting", want: context.DeadlineExceeded, took: [2]time.Duration{time.Minute, time.Minute}},
		{name: "an exit without a word", state: "running", result: exit1, took: [2]time.Duration{10 * time.Second, 12 * time.Second}},
		{name: "somebody else answers", state: "running", result: &smol.ExecResult{Stdout: []byte("ready-1\n")}, took: [2]time.Duration{10 * time.Second, 12 * time.Second}},
		{name: "no shell", state: "running", result: noShell},
		{name: "cut off", state: "running", err: errLost, took: [2]time.Duration{10 * time.Second, 12 * time.Second}},
		{name: "refused", state: "running", err: &smol.Error{Code: smol.CodePermissionDenied, Status: 403}, want: smol.ErrPermission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m := newFakeMachine()
				f.set("web", tt.state)
				began := time.Now()
				if tt.later != "" {
					time.AfterFunc(10*time.Second, func() { f.set("web", tt.later) })
				}
				f.exec = func(*smol.ExecRequest) (*smol.ExecResult, error, bool) {
					return tt.result, tt.err, (tt.result != nil || tt.err != nil) && time.Since(began) < 10*time.Second
				}
				var states []smol.State
				err := m.WaitReady(t.Context(), &smol.WaitOptions{
					Timeout: time.Minute, OnState: func(s smol.State) { states = append(states, s) },
				})
				if !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				var state *smol.StateError
				if tt.got != "" && (!errors.As(err, &state) || state.Got != tt.got || state.Hint == "") {
					t.Errorf("got %+v, want a StateError of %s with a hint", err, tt.got)
				}
				if d := time.Since(began); d < tt.took[0] || d > max(tt.took[1], time.Second) {
					t.Errorf("took %v, want %v to %v", d, tt.took[0], tt.took[1])
				}
				if tt.states != nil && !slices.Equal(states, tt.states) {
					t.Errorf("told %v, want %v", states, tt.states)
				}
				if n := f.count("start"); n != 0 {
					t.Error("the machine was booted")
				}
				if n := f.count("inspect"); n > 100 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

func TestWaitReadyTimeNamesState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.before = each("exec plain", errLost)
		began := time.Now()
		err := m.WaitReady(t.Context(), nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "last seen running") || !strings.Contains(err.Error(), "connection cut") {
			t.Errorf("got %v, want the last state and the last failure", err)
		}
		if d := time.Since(began); d != 2*time.Minute {
			t.Errorf("took %v, want the default of two minutes", d)
		}
	})
}

func TestWaitReadyCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.set("web", smol.StateStarting)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := m.WaitReady(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "not ready after") {
			t.Errorf("got %v, want the caller's own deadline", err)
		}
		if time.Since(began) != time.Second {
			t.Errorf("took %v", time.Since(began))
		}
		if err := m.WaitReady(t.Context(), &smol.WaitOptions{Timeout: -1}); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("negative time: got %v", err)
		}
	})
}

// TestWaitReadyHungProbe: a probe that is never answered is tried again.
func TestWaitReadyHungProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.before = at("exec plain", 1, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if err := m.WaitReady(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if n := f.count("exec"); n != 2 {
			t.Errorf("%d probes, want 2", n)
		}
	})
}
