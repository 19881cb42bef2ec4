//go:build linux || darwin

package serve_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/smol-machines/smol-go/internal/serve"
)

// TestShared lets two programs share a serve: whoever started it can leave first, and the last to leave stops it.
func TestShared(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.program("supervisor")
	pid := a.uses()
	b := newLease(p.config())
	u := get(t, b)
	a.close()
	a.says("closed <nil>")
	if u.Process.PID != pid || !u.Process.Alive() {
		t.Errorf("the serve %d was stopped under %+v", pid, u)
	}
	closeLease(t, b)
	p.began(1)
	p.clean()
}

// TestManyLeases takes leases of two supervisors at the same time, and gives them back in disorder.
func TestManyLeases(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one, two := serve.New(p.config()), serve.New(p.config())
	var leases []*serve.Lease
	var wg sync.WaitGroup
	for range 4 {
		for _, l := range []*serve.Lease{one.Lease(), two.Lease()} {
			leases = append(leases, l)
			wg.Go(func() {
				if _, err := l.Get(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	p.began(1)
	for _, l := range leases[1:] {
		wg.Go(func() { closeLease(t, l) })
	}
	wg.Wait()
	if u := get(t, leases[0]); !u.Process.Alive() {
		t.Error("the serve was stopped under a lease")
	}
	closeLease(t, leases[0])
	closeLease(t, leases[0])
	if _, err := leases[0].Get(t.Context()); !errors.Is(err, serve.ErrNotServed) {
		t.Errorf("a closed lease: %v", err)
	}
	p.began(1)
	p.clean()
}

// TestCallersContext gives up a wait for a start, which goes on for whoever comes next.
func TestCallersContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.config()
	reached, goOn := make(chan struct{}), make(chan struct{})
	c.Step = func(name string) {
		if name == "recorded" {
			close(reached)
			<-goOn
		}
	}
	l := newLease(c)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := l.Get(ctx)
		result <- err
	}()
	<-reached
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	get(t, l)
	p.began(1)
	closeLease(t, l)
	p.clean()
}

// TestClosedWhileStarting closes the only lease while the serve comes up.
func TestClosedWhileStarting(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SMOLVM_TEST_MODE=hangs")
	c := p.config()
	reached := make(chan struct{})
	c.Step = func(name string) {
		if name == "released" {
			close(reached)
		}
	}
	l := newLease(c)
	result := make(chan error, 1)
	go func() {
		_, err := l.Get(t.Context())
		result <- err
	}()
	<-reached
	closeLease(t, l)
	if err := <-result; !errors.Is(err, serve.ErrNotServed) {
		t.Errorf("got %v", err)
	}
	p.clean()
}

// TestLost kills the serve: the next call starts another one.
func TestLost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := serve.New(p.config())
	l := s.Lease()
	u := get(t, l)
	kill(t, u.Process.PID)
	l.Lost(u)
	if s.Current() != nil || l.URL() != "" {
		t.Error("what was lost is still in use")
	}
	if again := get(t, l); again.Process == u.Process || l.URL() != again.URL {
		t.Errorf("uses %+v again", again)
	}
	p.began(2)
	closeLease(t, l)
	p.clean()
}

// TestMovesOn uses a service that has come to be where it is looked for first, and stops the serve that was lost.
func TestMovesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.config()
	c.URL = "unix://" + p.dir + "/configured.sock"
	l := newLease(c)
	u := get(t, l)
	p.listen("configured.sock", health("1.20.1"))
	l.Lost(u)
	if again := get(t, l); again.URL != c.URL || again.Ours() {
		t.Errorf("uses %+v", again)
	}
	p.clean()
	closeLease(t, l)
	p.began(1)
}
