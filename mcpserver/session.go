package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// session is what one client has: its ephemeral machines, and the fleet that it was narrowed to.
type session struct {
	// id tells sessions apart in logs, records and labels. It is not the protocol's.
	id string
	// conn is the connection.
	conn *mcp.ServerSession
	// ended is done once the session has ended; what it started must stop then.
	ended context.Context
	end   context.CancelFunc

	narrowing narrowing
	endOnce   sync.Once
	endErr    error

	mu    sync.Mutex     // held when calls grows and when ended ends, so that no call begins after the end
	calls sync.WaitGroup // calls under way
}

// enter begins a call, unless the session has ended; leave ends it.
func (ss *session) enter() error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.ended.Err() != nil {
		return fail(CodeUnavailable, "the session has ended")
	}
	ss.calls.Add(1)
	return nil
}

func (ss *session) leave() { ss.calls.Done() }

// interrupt cancels the calls of the session and lets no more begin.
func (ss *session) interrupt() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.end()
}

// quiet waits until no call is under way: a create that was cancelled takes its machine back first.
func (ss *session) quiet(ctx context.Context) error {
	done := make(chan struct{})
	go func() { ss.calls.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls are still under way: %w", context.Cause(ctx))
	}
}

// newID returns 8 hexadecimal digits.
func newID() string { return randhex.String(4) }

// session returns the session of a connection, beginning it if this is its first request.
func (s *Server) session(ctx context.Context, conn *mcp.ServerSession) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessions[conn]; ss != nil {
		return ss, nil
	}
	if s.closed {
		return nil, fail(CodeUnavailable, "the server is shutting down")
	}
	ss := &session{id: newID(), conn: conn}
	ss.ended, ss.end = context.WithCancel(context.WithoutCancel(ctx))
	s.sessions[conn] = ss
	s.ends.Add(1)
	go func() {
		defer s.ends.Done()
		// The error is how the connection ended, which the transport reports.
		_ = conn.Wait()
		bound, cancel := s.bounded(context.WithoutCancel(ctx))
		defer cancel()
		if err := s.end(bound, ss); err != nil {
			s.log.Error("end of session", "session", ss.id, "error", err)
		}
		s.mu.Lock()
		delete(s.sessions, conn)
		s.mu.Unlock()
	}()
	return ss, nil
}

// end ends a session: what it waits for stops, and its ephemeral machines go.
func (s *Server) end(ctx context.Context, ss *session) error {
	ss.endOnce.Do(func() {
		ss.interrupt()
		// A call that does not end must not take the time in which the machines are deleted.
		quiet, cancel := context.WithTimeout(ctx, quietFor(ctx))
		defer cancel()
		ss.endErr = errors.Join(ss.quiet(quiet), s.keeper.endSession(ctx, ss))
	})
	return ss.endErr
}

// quietFor returns how long calls that were cancelled are waited for: less of them where little time is left.
func quietFor(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return quietBound
	}
	return min(quietBound, time.Until(end)/2)
}
