package serve

import (
	"context"
	"errors"
	"sync"
)

// errClosed is what a lease says that was closed.
var errClosed = errors.New("the service is closed")

// Lease is one user's part in the serve. The first Get takes it, and Close gives it back; while any is held the serve stays. It is safe for
// concurrent use.
type Lease struct {
	s      *Supervisor
	mu     sync.Mutex // of the two
	taken  bool
	closed bool
}

// Lease returns a lease that has yet to be taken.
func (s *Supervisor) Lease() *Lease { return &Lease{s: s} }

// take counts the lease, once.
func (l *Lease) take() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return unavailable(errClosed, "Close was called before", "")
	}
	if !l.taken {
		l.taken = true
		l.s.mu.Lock()
		l.s.leases++
		l.s.mu.Unlock()
	}
	return nil
}

// Get returns the service, and finds or starts it if there is none yet. Who waits for the same start waits for the same result; ctx bounds
// only the wait. A failure is not remembered.
func (l *Lease) Get(ctx context.Context) (*Use, error) {
	if err := l.take(); err != nil {
		return nil, err
	}
	s := l.s
	for {
		s.mu.Lock()
		if s.use != nil && !s.use.lost {
			defer s.mu.Unlock()
			return s.use, nil
		}
		w, finds := s.work, true
		if w == nil {
			w = s.begin(ctx)
		} else {
			finds = w.cancel != nil
		}
		s.mu.Unlock()
		select {
		case <-w.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if finds && !w.given {
			return w.use, w.err
		}
		// It was a stop, or a look that was given up when nobody wanted it any more.
		if err := l.take(); err != nil {
			return nil, err
		}
	}
}

// begin looks for a serve, or starts one, on behalf of all who wait. The caller holds s.mu.
func (s *Supervisor) begin(ctx context.Context) *work {
	// Not the time of who came first: a start that was given up half-way would be a serve that was killed while it takes over machines.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &work{done: make(chan struct{}), cancel: cancel}
	s.work = w
	before := s.use
	go func() {
		defer cancel()
		use, err := s.find(ctx, before)
		s.mu.Lock()
		defer s.mu.Unlock()
		w.use, w.err = use, err
		if use == nil && before != nil && !before.left {
			use = before // nobody has let go of it yet
		}
		s.use, s.work = use, nil
		close(w.done)
	}()
	return w
}

// Lost says that nobody accepts connections at u any more, so that the next Get looks again.
func (l *Lease) Lost(u *Use) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.use == u {
		u.lost = true
	}
}

// Close gives the lease back; the last one lets go of the serve, and waits for that. Closing again does nothing.
func (l *Lease) Close() error {
	l.mu.Lock()
	taken := l.taken && !l.closed
	l.closed = true
	l.mu.Unlock()
	if !taken {
		return nil
	}
	s := l.s
	s.mu.Lock()
	s.leases--
	for s.leases == 0 && s.work != nil {
		w := s.work
		if w.cancel != nil {
			w.given = true
			w.cancel()
		}
		s.mu.Unlock()
		<-w.done
		s.mu.Lock()
	}
	if s.leases > 0 || s.use == nil {
		s.mu.Unlock()
		return nil
	}
	u, w := s.use, &work{done: make(chan struct{})}
	s.use, s.work = nil, w
	s.mu.Unlock()
	err := s.letGo(u)
	s.mu.Lock()
	s.work = nil
	s.mu.Unlock()
	close(w.done)
	return err
}

// Current returns the service in use, or nil.
func (s *Supervisor) Current() *Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.use == nil || s.use.lost {
		return nil
	}
	return s.use
}

// URL returns where the service in use listens, or "" if there is none.
func (l *Lease) URL() string {
	if u := l.s.Current(); u != nil {
		return u.URL
	}
	return ""
}
