package limit

import (
	"context"
	"sync"
)

// Key names a machine by its ID at an Endpoint: two handles of one machine share its limit, whichever fleet object they came from.
type Key struct{ Endpoint, ID string }

// Registry holds the limiter of every machine that has calls in flight. The zero value is ready for use, and it is safe
// for concurrent use.
type Registry struct {
	mu       sync.Mutex
	limiters map[Key]*entry
}

type entry struct {
	*Limiter
	gate  gate
	users int
}

// process is the one piece of state that all fleets of a process share: the machine counts connections whoever opens them.
var process Registry

// Process returns the one registry that everybody here shares.
func Process() *Registry { return &process }

// Acquire waits for a place at the machine, whose limit is max, and returns the function that gives it back. A machine without calls
// takes no memory here.
func (r *Registry) Acquire(ctx context.Context, key Key, max int, class Class) (release func(), err error) {
	e := r.enter(key, max)
	free, err := e.Acquire(ctx, class)
	if err != nil {
		r.leave(key, e)
		return nil, err
	}
	return sync.OnceFunc(func() {
		free()
		r.leave(key, e)
	}), nil
}

// Crowded reports whether calls to the machine queue, or soon would.
func (r *Registry) Crowded(key Key) bool {
	r.mu.Lock()
	e := r.limiters[key]
	r.mu.Unlock()
	return e != nil && e.Crowded()
}

// Len is how many machines have calls in flight or waiting.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.limiters)
}

func (r *Registry) enter(key Key, max int) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limiters == nil {
		r.limiters = make(map[Key]*entry)
	}
	e := r.limiters[key]
	if e == nil {
		e = &entry{Limiter: New(max)}
		r.limiters[key] = e
	}
	e.users++
	return e
}

func (r *Registry) leave(key Key, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(r.limiters, key)
	}
}
