// Package limit bounds how many calls a machine has in flight.
//
// A machine of the local fleet serves eight connections and is rebooted by the ninth, so the library counts for
// it. One place is kept for calls that are over at once: a signal must reach the machine while long commands fill
// all the others.
package limit

import (
	"context"
	"sync"
)

// Class says how long a call holds its place, and so where it queues.
type Class int

const (
	// Ordinary calls may take long: a command, a file. They never use the place that is kept.
	Ordinary Class = iota
	// Short calls are answered at once: a probe, a poll that does not wait. They use the place that is kept, or else an ordinary one.
	Short
	// Urgent calls are short and go before every other call that queues: the kill of a cancelled command.
	Urgent
)

// Limiter admits calls to one machine. It is safe for concurrent use.
type Limiter struct {
	max  int // places in all; 0: no limit
	kept int // places that ordinary calls do not get

	mu       sync.Mutex
	ordinary int // ordinary calls in flight
	short    int // short and urgent ones
	queue    []*waiter
}

type waiter struct {
	class    Class
	admitted chan struct{}
}

// New returns a limiter with max places, one of them kept for short calls if there are at least two. Zero: no limit.
func New(max int) *Limiter {
	l := &Limiter{max: max}
	if max > 1 {
		l.kept = 1
	}
	return l
}

// Acquire waits for a place and returns the function that gives it back, to be called once. Calls of a class are
// admitted in the order in which they came. It returns the cause of ctx if that ends first.
func (l *Limiter) Acquire(ctx context.Context, class Class) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	if !l.overtakes(class) && l.fits(class) {
		l.take(class)
		l.mu.Unlock()
		return l.releaser(class), nil
	}
	w := &waiter{class: class, admitted: make(chan struct{})}
	l.enqueue(w)
	l.mu.Unlock()
	select {
	case <-w.admitted:
		return l.releaser(class), nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.admitted: // between the end of ctx and the lock
		l.give(class)
	default:
		l.drop(w)
	}
	return nil, context.Cause(ctx)
}

// Crowded reports whether calls queue, or would if one or two more came. A call that only waits for news then had better
// hold its place for a short time.
func (l *Limiter) Crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > 0 || l.max > 0 && l.room() < 2
}

// room is how many more ordinary calls fit.
func (l *Limiter) room() int {
	return l.max - l.kept - l.ordinary - max(0, l.short-l.kept)
}

func (l *Limiter) fits(class Class) bool {
	switch {
	case l.max == 0:
		return true
	case class == Ordinary:
		return l.room() > 0
	default:
		return l.ordinary+l.short < l.max
	}
}

// overtakes reports whether admitting a call of the class at once would pass one that queues for the same places.
func (l *Limiter) overtakes(class Class) bool {
	if class == Urgent {
		return len(l.queue) > 0 && l.queue[0].class == Urgent
	}
	for _, w := range l.queue {
		// An ordinary call that queues leaves the kept place to a short one.
		if class == Ordinary || w.class != Ordinary || l.short >= l.kept {
			return true
		}
	}
	return false
}

// enqueue puts urgent calls behind other urgent ones and before the rest.
func (l *Limiter) enqueue(w *waiter) {
	i := len(l.queue)
	if w.class == Urgent {
		for i = 0; i < len(l.queue) && l.queue[i].class == Urgent; i++ {
		}
	}
	l.queue = append(l.queue, nil)
	copy(l.queue[i+1:], l.queue[i:])
	l.queue[i] = w
}

func (l *Limiter) take(class Class) {
	if class == Ordinary {
		l.ordinary++
	} else {
		l.short++
	}
}

// give returns a place and admits whoever fits, in order; an ordinary call at the head that does not fit holds back
// other ordinary calls and lets short ones pass to the kept place only.
func (l *Limiter) give(class Class) {
	if class == Ordinary {
		l.ordinary--
	} else {
		l.short--
	}
	l.admit()
}

func (l *Limiter) admit() {
	rest := l.queue[:0]
	blocked := false
	for _, w := range l.queue {
		fits := l.fits(w.class) && !(blocked && (w.class == Ordinary || l.short >= l.kept))
		if !fits {
			blocked = true
			rest = append(rest, w)
			continue
		}
		l.take(w.class)
		close(w.admitted)
	}
	clear(l.queue[len(rest):])
	l.queue = rest
}

func (l *Limiter) drop(w *waiter) {
	for i, q := range l.queue {
		if q == w {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			break
		}
	}
	// Whoever stood behind w may fit where w did not.
	l.admit()
}

func (l *Limiter) releaser(class Class) func() {
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.give(class)
	})
}
