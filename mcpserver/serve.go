package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// giveUpBound is how long calls get that were cancelled because nobody is there any more for their answers.
const giveUpBound = time.Second

// Serve serves the one client of a transport until it leaves, which is no error, or until ctx ends: then its calls are cancelled, and over
// [Stdio] that is still what they answer. The session's ephemeral machines are deleted by Close at the latest, which has ten seconds from the
// moment at which the client left or ctx ended.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	l, ok := t.(*lines)
	if ok {
		l.ending = s.beginEnd
		l.cancel = s.interruptAll
	}
	s.mu.Lock()
	s.serving++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.serving--
		s.mu.Unlock()
	}()
	conn, err := s.mcp.Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return fmt.Errorf("mcpserver: %w", err)
	}
	s.keeper.begin(ctx)
	stop := context.AfterFunc(ctx, func() {
		s.beginEnd()
		s.mu.Lock()
		ss := s.sessions[conn]
		s.mu.Unlock()
		if ss != nil {
			ss.interrupt()
		}
		if ok {
			l.leave()
			return
		}
		// How the connection ended is what Wait says.
		_ = conn.Close()
	})
	defer stop()
	if err := waitConn(conn, l); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("mcpserver: %w", err)
	}
	return nil
}

// waitConn waits for the end of a connection. The SDK waits for all calls, and so for one that does not end when it is cancelled; with l that
// is given up.
func waitConn(conn *mcp.ServerSession, l *lines) error {
	if l == nil {
		return conn.Wait()
	}
	done := make(chan error, 1)
	go func() { done <- conn.Wait() }()
	select {
	case err := <-done:
		return err
	case <-l.eof:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(giveUpBound):
		return nil // the end of the session tells
	}
}

// interruptAll cancels the calls of the one client there is; with others it is left to the end of the connection.
func (s *Server) interruptAll() {
	s.mu.Lock()
	var open []*session
	if s.serving == 1 {
		open = slices.Collect(maps.Values(s.sessions))
	}
	s.mu.Unlock()
	for _, ss := range open {
		ss.interrupt()
	}
}

// beginEnd notes that the time for a shutdown begins, unless it has begun or there are other clients.
func (s *Server) beginEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.serving == 1 && !s.endBy.After(now) {
		s.endBy = now.Add(shutdownBound)
	}
}

// bounded returns a context for the end of sessions: for what is left of a shutdown that has begun, or for one that begins now.
func (s *Server) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	now := time.Now()
	s.mu.Lock()
	end := s.endBy
	s.mu.Unlock()
	if !end.After(now) {
		end = now.Add(shutdownBound)
	}
	return context.WithDeadline(ctx, end)
}
