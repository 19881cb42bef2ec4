package smol_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// gate is a transport that, once it is closed, holds requests of a method until it is opened.
type gate struct {
	http.RoundTripper
	method string
	closed atomic.Bool
	held   chan struct{} // has one when a request is held
	opened chan struct{}
}

// RoundTrip sends the request.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == g.method && g.closed.Load() {
		select {
		case g.held <- struct{}{}:
		default:
		}
		select {
		case <-g.opened:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return g.RoundTripper.RoundTrip(r)
}

// TestSimFrozen: a command in a machine that a branch has frozen does not go on, and who waits for it is told. Before each poll the library looks whether the
// machine runs. If it is frozen by then, nothing is sent. If it freezes between the look and the poll, such a service stops it when the poll arrives.
func TestSimFrozen(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Version: "1.16.0"})
	fleet := l.Service(t).Fleet
	command := func(t *testing.T, m *smol.Machine) (wait func() error) {
		c := m.Shell("echo $$; while :; do sleep 0.1; echo; done")
		started(t, t.Context(), c)
		return c.Wait
	}
	job := func(t *testing.T, m *smol.Machine) (wait func() error) {
		j := startJob(t, m, "sleep 1000")
		return func() error { return second(j.Wait(t.Context())) }
	}
	for name, begin := range map[string]func(*testing.T, *smol.Machine) func() error{"command": command, "job": job} {
		for method, want := range map[string]smol.State{http.MethodGet: smol.StateFrozen, http.MethodPost: smol.StateStopped} {
			t.Run(name+", "+method+" on its way", func(t *testing.T) {
				t.Parallel()
				m, err := fleet.Create(t.Context(), smol.Spec{Image: "busybox", Network: smol.Network{Open: true}, Branchable: true}, nil)
				if err != nil {
					t.Fatal(err)
				}
				g := &gate{method: method, held: make(chan struct{}, 1), opened: make(chan struct{})}
				svc, err := local.New(&local.Options{URL: l.URL(), Wrap: func(rt http.RoundTripper) http.RoundTripper { g.RoundTripper = rt; return g }})
				if err != nil {
					t.Fatal(err)
				}
				defer svc.Close()
				wait := begin(t, svc.Machine(m.Name()))
				g.closed.Store(true)
				told := make(chan error, 1)
				go func() { told <- wait() }()
				<-g.held
				if _, err := m.Branch(t.Context(), m.Name()+"-child", nil); err != nil {
					t.Error(err)
				}
				close(g.opened)
				var state *smol.StateError
				if err := <-told; !errors.As(err, &state) || state.Got != want {
					t.Errorf("got %v, want that it is %s", err, want)
				}
			})
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
