package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Close ends all sessions, deletes their ephemeral machines and then lets go of the fleets; last, it stops the local service if this process
// has started it and nobody else uses it. It takes ten seconds at most, counted from the moment at which the only client of [Server.Serve]
// left if that was just now, and less if ctx ends before; what could not be done by then is
// in the error, and machines that are left are deleted by the next start.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	errs := []error{s.closeSessions(ctx)}
	if err := within(ctx, func() error { s.keeper.finish(); return nil }); err != nil {
		errs = append(errs, fmt.Errorf("mcpserver: end of the sweep: %w", err))
	}
	for t, src := range s.sources {
		if err := within(ctx, func() error { return src.Close(ctx) }); err != nil {
			errs = append(errs, fmt.Errorf("mcpserver: end of the %s fleet: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// closeSessions ends all sessions at once, and leaves some time for the fleets.
func (s *Server) closeSessions(ctx context.Context) error {
	// What ends with its context has a moment to say so.
	ctx, cancel := sooner(ctx, stopBound/2)
	defer cancel()
	work, cancel := sooner(ctx, stopBound/2)
	defer cancel()
	s.mu.Lock()
	s.closed = true
	var open []*session
	for _, ss := range s.sessions {
		open = append(open, ss)
	}
	s.mu.Unlock()
	var told sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, ss := range open {
		all.Go(func() {
			err := s.end(work, ss)
			told.Lock()
			errs = append(errs, err)
			told.Unlock()
			// How the connection ended is for its transport to say.
			_ = ss.conn.Close()
		})
	}
	// A session that ended by itself is not among them any more.
	err := within(ctx, func() error { all.Wait(); s.ends.Wait(); return nil })
	told.Lock()
	defer told.Unlock()
	if err = errors.Join(errors.Join(errs...), err); err != nil {
		return fmt.Errorf("mcpserver: end of sessions: %w", err)
	}
	return nil
}

// sooner returns a context that ends some time before ctx, but has three quarters of what is left.
func sooner(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end.Add(-min(by, time.Until(end)/4)))
}

// within returns what fn does, or that the context ended before.
func within(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("given up: %w", context.Cause(ctx))
	}
}
