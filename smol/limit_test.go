package smol_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// TestLimitPerMachine: however many handles and fleets there are, a machine has at most six calls in flight, and all commands get on.
func TestLimitPerMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newFakeMachine()
		f.command = sleeps(100 * time.Second)
		f.before = func(_ context.Context, call string) error {
			if call != "inspect web" {
				time.Sleep(20 * time.Millisecond) // what an exec takes
			}
			return nil
		}
		fleets := []*smol.Fleet{smol.NewFleet(f), smol.NewFleet(f)}
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				out, err := fleets[i%2].Machine("web").Command("prog").Output(t.Context())
				if err != nil || string(out) != "done" {
					t.Errorf("command %d: %q and %v", i, out, err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		if n := f.ran(); n != 32 {
			t.Errorf("%d of 32 commands have started after ten seconds: those that wait hold up others", n)
		}
		c := fleets[0].Machine("web").Command("prog")
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 12*time.Second {
			t.Errorf("one more command took %v to start", d-10*time.Second)
		}
		began = time.Now()
		if err := c.Signal(t.Context(), smol.Kill); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("a signal took %v to get through", d)
		}
		if err := c.Wait(); err == nil {
			t.Error("the command was not killed")
		}
		wg.Wait()
		if f.most > 6 {
			t.Errorf("%d calls were in flight at once", f.most)
		}
		if n := f.count("exec"); n > 32*100 {
			t.Errorf("%d execs for 32 commands of 100 s", n)
		}
	})
}

// TestLimitIsPerEndpoint: machines of two services that happen to have one id do not share a limit.
func TestLimitIsPerEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cmds []*smol.Cmd
		for range 2 {
			f, _ := newFakeMachine()
			f.traits.MaxInFlight = 1
			m := smol.NewFleet(f).Machine("web")
			f.command = sleeps(3 * time.Second)
			cmds = append(cmds, m.Command("prog"))
		}
		began := time.Now()
		var wg sync.WaitGroup
		for _, c := range cmds {
			wg.Go(func() {
				if err := c.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// TestCancelInTheQueue: a call that waits for its place gives up with its context, and has sent nothing.
func TestCancelInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.before = func(ctx context.Context, call string) error {
			if call == "exec start" {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			}
			return ctx.Err()
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _ = m.Command("first").Run(t.Context()) })
		}
		synctest.Wait()
		starts := f.count("exec start")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Command("second").Run(ctx); err == nil {
			t.Error("no error")
		}
		if n := f.count("exec start") - starts; n != 0 || f.count("exec signal") != 0 {
			t.Errorf("%d starts and %d signals were sent", n, f.count("exec signal"))
		}
		wg.Wait()
	})
}
