// Package task is what goes on in a stand-in beside its requests: work in the background, which it waits for when it closes, and commands in
// the foreground, which die with it.
package task

import (
	"context"
	"errors"
	"sync"

	"github.com/smol-machines/smol-go/internal/sim"
)

// ErrAbandoned is the end of a call whose context ended before its work did.
var ErrAbandoned = errors.New("abandoned")

// Group is the work of one server. It is safe for concurrent use.
type Group struct {
	// ctx ends when the server closes; work counts what goes on in the background, handlers the requests in flight.
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	handlers sync.WaitGroup
	once     sync.Once

	mu         sync.Mutex
	foreground map[*running]bool
	closed     bool // no request begins any more
	alone      bool // no request goes on any more
}

// New returns a group without work. It must be closed.
func New() *Group {
	g := &Group{foreground: map[*running]bool{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Context ends when the group closes.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f, which the group waits for when it closes, as long as requests go on. What begins after that ends by itself, because the context
// is over.
func (g *Group) Go(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone {
		go f()
		return
	}
	g.work.Go(f)
}

// Enter counts a request in, for which Leave must be called, unless the group has closed.
func (g *Group) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.handlers.Add(1)
	}
	return !g.closed
}

// Leave counts a request out.
func (g *Group) Leave() { g.handlers.Done() }

// Close ends the context and the commands in the foreground, waits for the requests, and for the work. In between and at the end it calls
// release, which is to let go of the machines that there are, so that nothing waits for a command that nobody holds any more. It must
// not be called by a request. A second call waits for the first and does nothing else.
func (g *Group) Close(release func()) {
	g.once.Do(func() {
		g.cancel()
		for _, r := range g.end() {
			r.kill()
		}
		g.handlers.Wait()
		g.mu.Lock()
		g.alone = true
		g.mu.Unlock()
		release()
		g.work.Wait()
		release() // what was booted meanwhile
	})
}

// end marks the group as closed and returns the commands in the foreground.
func (g *Group) end() (list []*running) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for r := range g.foreground {
		list = append(list, r)
	}
	return list
}

// running is a command in the foreground.
type running struct{ p sim.Process }

func (r *running) kill() { _ = r.p.Signal(9) }

// Track notes a foreground command until untrack is called.
func (g *Group) Track(p sim.Process) (untrack func()) {
	r := &running{p}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		go r.kill()
	}
	g.foreground[r] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.foreground, r)
	}
}

// Step does one blocking step of a call. If ctx ends first the call is abandoned: Step returns [ErrAbandoned], the step runs to its end in
// the background, and late, which may be nil, gets what came of it. The steps after it never happen.
func Step[T any](ctx context.Context, g *Group, do func() (T, error), late func(T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome)
	g.Go(func() {
		v, err := do()
		select {
		case done <- outcome{v, err}:
		case <-ctx.Done():
			if late != nil {
				late(v, err)
			}
		}
	})
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, ErrAbandoned
	}
}
