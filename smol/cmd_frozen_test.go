package smol_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestSimFrozen: a command in a machine that a branch has frozen does not go on, and who waits for it is told.
func TestSimFrozen(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Version: "1.16.0"})
	m, err := l.Service(t).Create(t.Context(), smol.Spec{Image: "busybox", Network: smol.Network{Open: true}, Branchable: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Shell("echo $$; exec sleep 1000")
	started(t, t.Context(), c)
	job := startJob(t, m, "sleep 1000")
	if _, err := m.Branch(t.Context(), "child", nil); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"command": c.Wait(), "job": second(job.Wait(t.Context()))} {
		var state *smol.StateError
		// A poll that is on its way when the machine freezes makes this service stop it.
		if !errors.As(err, &state) || state.Got != smol.StateFrozen && state.Got != smol.StateStopped {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSimDeleted: a command whose machine was deleted, or replaced by another of its name, says so.
func TestSimDeleted(t *testing.T) {
	for _, again := range []bool{false, true} {
		_, fleet, m := simMachine(t, smol.Spec{Image: "busybox", Name: "same"})
		c := m.Shell("echo $$; exec sleep 1000")
		started(t, t.Context(), c)
		job := startJob(t, m, "sleep 1000")
		if err := m.Delete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if again {
			if _, err := fleet.Create(t.Context(), smol.Spec{Image: "busybox", Name: "same", Network: smol.Network{Open: true}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for name, err := range map[string]error{"command": c.Wait(), "job": second(job.Wait(t.Context()))} {
			// Which of them it is depends on when the machine is looked at; a service that tells whole seconds does not show a replacement.
			var state *smol.StateError
			if !errors.Is(err, smol.ErrNotFound) && !errors.Is(err, smol.ErrUnavailable) && !errors.As(err, &state) ||
				!strings.Contains(err.Error(), "died with") && !strings.Contains(err.Error(), "another one") {
				t.Errorf("%s, replaced %v: %v", name, again, err)
			}
		}
	}
}

// TestCmdFrozenInFlight: a call that the machine will not answer ends once the machine is seen to be frozen.
func TestCmdFrozenInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.before = func(ctx context.Context, call string) error {
			if !strings.HasPrefix(call, "exec") {
				return nil
			}
			f.set("web", smol.StateFrozen)
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		var state *smol.StateError
		if err := m.Command("prog").Run(t.Context()); !errors.As(err, &state) || state.Got != smol.StateFrozen {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d > 15*time.Second {
			t.Errorf("told after %v", d)
		}
	})
}
