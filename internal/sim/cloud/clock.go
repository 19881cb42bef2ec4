package cloud

import (
	"sync"
	"time"
)

// Clock tells a server the time by which it bills, stops and deletes machines, and makes it look after them.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// Every calls f after each interval d until stop is called, which waits for a call that is running.
	Every(d time.Duration, f func()) (stop func())
}

// realClock is the system's.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Every(d time.Duration, f func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-end:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}

// FakeClock is a clock that stands still until it is told to go on. It may serve several servers, one after the other or at the same time.
type FakeClock struct {
	mu      sync.Mutex
	now     time.Time
	advance sync.Mutex // held while time goes on
	calls   []*repeated
}

// repeated is a function that is called at intervals.
type repeated struct {
	every time.Duration
	next  time.Time
	f     func()
}

// NewFakeClock returns a clock that shows start, or, if that is zero, noon of 4 October 2026 in UTC.
func NewFakeClock(start time.Time) *FakeClock {
	if start.IsZero() {
		start = time.Date(2026, time.October, 4, 12, 0, 0, 0, time.UTC)
	}
	return &FakeClock{now: start}
}

// Now returns what the clock shows.
func (c *FakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Every calls f from within [FakeClock.Advance], at each multiple of d from now on.
func (c *FakeClock) Every(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := &repeated{every: d, next: c.now.Add(d), f: f}
	c.calls = append(c.calls, mine)
	return func() {
		c.advance.Lock() // waits for a call that is running
		defer c.advance.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, k := range c.calls {
			if k == mine {
				c.calls = append(c.calls[:i:i], c.calls[i+1:]...)
			}
		}
	}
}

// Advance lets the time d pass: everything that falls due is done, in order and each at its own time, before it returns. A negative d is
// taken for zero.
func (c *FakeClock) Advance(d time.Duration) {
	c.advance.Lock()
	defer c.advance.Unlock()
	end := c.Now().Add(max(d, 0))
	for {
		f := c.due(end)
		if f == nil {
			return
		}
		f()
	}
}

// due moves the clock to the next call that falls due until end and returns it, or to end and returns nil.
func (c *FakeClock) due(end time.Time) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *repeated
	for _, k := range c.calls {
		if !k.next.After(end) && (first == nil || k.next.Before(first.next)) {
			first = k
		}
	}
	if first == nil {
		c.now = end
		return nil
	}
	c.now = first.next
	first.next = first.next.Add(first.every)
	return first.f
}
