package limit

import (
	"context"
	"sync"
	"time"
)

// settle is how long a call that has passed takes at most to be taken up by the service.
const settle = 250 * time.Millisecond

// gate keeps calls that must not boot a machine from meeting its stop: the service lets a call that comes during the stop wait, and boots
// the machine for it afterwards, though it ran when the caller looked.
type gate struct {
	mu     sync.Mutex
	shut   int           // how many stops are under way
	opened chan struct{} // closed when shut becomes 0
	passed time.Time     // when the last call passed
}

// pass waits until no stop is under way.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.shut == 0 {
			g.passed = time.Now()
			g.mu.Unlock()
			return nil
		}
		opened := g.opened
		g.mu.Unlock()
		select {
		case <-opened:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// close shuts the gate and waits until calls that have passed shortly before are no longer on their way.
func (g *gate) close(ctx context.Context) (open func(), err error) {
	g.mu.Lock()
	if g.shut++; g.shut == 1 {
		g.opened = make(chan struct{})
	}
	left := settle - time.Since(g.passed)
	g.mu.Unlock()
	open = sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.shut--; g.shut == 0 {
			close(g.opened)
		}
	})
	if left <= 0 {
		return open, nil
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return open, nil
	case <-ctx.Done():
		open()
		return nil, context.Cause(ctx)
	}
}

// Pass waits while the machine is being stopped by this process. The caller holds a place, looks whether the machine runs, and sends its
// call at once.
func (r *Registry) Pass(ctx context.Context, key Key) error {
	r.mu.Lock()
	e := r.limiters[key]
	r.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.gate.pass(ctx)
}

// Shut holds up calls at [Registry.Pass] until open is called, which is to be done once the machine has stopped, or has not.
func (r *Registry) Shut(ctx context.Context, key Key, max int) (open func(), err error) {
	e := r.enter(key, max)
	release, err := e.gate.close(ctx)
	if err != nil {
		r.leave(key, e)
		return nil, err
	}
	return sync.OnceFunc(func() {
		release()
		r.leave(key, e)
	}), nil
}
