package smol_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// TestStateIsChecked: a call never boots what the fleet would harm by booting it, and says what to do.
func TestStateIsChecked(t *testing.T) {
	tests := []struct {
		state smol.State
		calls []string // after the first look at the name
		hint  string   // "": the command runs
	}{
		{smol.StateRunning, []string{"inspect web", "exec start"}, ""},
		{smol.StateStopped, []string{"inspect web", "start web", "exec start"}, ""},
		{smol.StateFrozen, []string{"inspect web"}, "branches"},
		{smol.StatePaused, []string{"inspect web"}, "resume"},
		{smol.StatePausing, []string{"inspect web"}, "resume"},
		{smol.StateUnreachable, []string{"inspect web"}, "Stop"},
		{smol.StateFailed, []string{"inspect web"}, "logs"},
		{smol.StateDeleted, []string{"inspect web"}, "create"},
		{"defragmenting", []string{"inspect web", "exec start"}, ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.state), func(t *testing.T) {
			f, m := newFakeMachine()
			if _, err := m.Info(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.mu.Lock()
			f.calls, f.machines["web"].info.State, f.machines["web"].info.Reason = nil, tt.state, "because"
			f.mu.Unlock()
			err := m.Command("prog").Run(t.Context())
			f.wantCalls(t, tt.calls...)
			var state *smol.StateError
			switch {
			case tt.hint == "" && err != nil:
				t.Error(err)
			case tt.hint == "":
			case !errors.As(err, &state) || !errors.Is(err, smol.ErrConflict):
				t.Errorf("got %v, want a StateError", err)
			case state.Got != tt.state || state.Reason != "because" || !strings.Contains(state.Hint, tt.hint) || state.Machine != "web":
				t.Errorf("got %+v", state)
			}
		})
	}
}

// TestBootingIsWaitedFor: a machine that is booting is waited for, as long as the context lasts.
func TestBootingIsWaitedFor(t *testing.T) {
	for _, state := range []smol.State{smol.StateCreating, smol.StateStarting} {
		synctest.Test(t, func(t *testing.T) {
			f, m := newFakeMachine()
			f.set("web", state)
			time.AfterFunc(10*time.Second, func() { f.set("web", smol.StateRunning) })
			if err := m.Command("prog").Run(t.Context()); err != nil {
				t.Errorf("%s: %v", state, err)
			}
			f.set("web", state)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := m.Command("prog").Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", state, err)
			}
			if n := f.ran(); n != 1 {
				t.Errorf("%s: %d commands ran, want 1", state, n)
			}
		})
	}
}

// TestStateIsAskedOnceForMany: calls that come together share the question, and a later one asks again.
func TestStateIsAskedOnceForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newFakeMachine()
		f.traits.MaxInFlight = 0
		m := smol.NewFleet(f).Machine("web")
		f.before = func(_ context.Context, call string) error {
			if strings.HasPrefix(call, "inspect") {
				time.Sleep(time.Second)
			}
			return nil
		}
		if _, err := m.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if err := m.Command("prog").Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := f.count("inspect"); n > 3 { // one for Info, one for the first call, one for the rest
			t.Errorf("the state was asked %d times for 50 calls", n)
		}
		f.set("web", smol.StatePaused)
		if err := m.Command("prog").Run(t.Context()); !errors.Is(err, smol.ErrConflict) {
			t.Errorf("a later call got %v: it was given an old answer", err)
		}
	})
}

// TestStateAskedByCancelledCall: the one who asks for all gives up, and the others ask themselves.
func TestStateAskedByCancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		if _, err := m.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.before = func(ctx context.Context, call string) error {
			if strings.HasPrefix(call, "inspect") {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(10 * time.Second):
				}
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		run := func(ctx context.Context, want error) {
			wg.Go(func() {
				if err := m.Command("prog").Run(ctx); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
			synctest.Wait()
		}
		run(ctx, context.DeadlineExceeded)
		run(t.Context(), nil)
		run(t.Context(), nil)
		wg.Wait()
	})
}
