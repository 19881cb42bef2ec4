package smoltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/seen"
)

// process is what runs a stand-in.
type process interface {
	URL() string
	Restart(ctx context.Context) error
	Kill() error
	Close() error
	Requests() []seen.Request
	Count(method, pattern string) int
	ForgetRequests()
	Fault(f fault.Fault) *fault.Armed
	ClearFaults()
}

// standIn is what the stand-ins of both services have in common.
type standIn struct {
	process process
	fail    func(err error)

	mu     sync.Mutex
	armed  []*Armed
	errs   []error // of a stand-in without a test
	closed bool
}

// bind makes the stand-in a part of the test, with which it ends.
func (s *standIn) bind(tb testing.TB) {
	tb.Helper()
	s.fail = func(err error) {
		tb.Helper()
		tb.Errorf("smoltest: %v", err)
	}
	tb.Cleanup(func() {
		tb.Helper()
		for _, text := range s.missed() {
			tb.Logf("smoltest: %s", text)
		}
		if err := s.Close(); err != nil {
			tb.Errorf("smoltest: the stand-in leaves something behind: %v", err)
		}
	})
}

// missed tells of each fault that has hit nothing: a test that waits for it in vain passes for the wrong reason.
func (s *standIn) missed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, a := range s.armed {
		if text := a.missed(s.process.Requests()); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// keep remembers an error until the stand-in is closed.
func (s *standIn) keep(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

func (s *standIn) arm(faults []Fault) {
	for _, f := range faults {
		s.Fault(f)
	}
}

// Close ends the stand-in with every machine and removes all it kept. The error tells what could not be ended or removed, and, of one that was
// started without a test, also what went wrong before. It is called at the end of a test by itself; a second call does nothing.
func (s *standIn) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	errs := s.errs
	s.mu.Unlock()
	if again {
		return nil
	}
	return errors.Join(append(errs, s.process.Close())...)
}

// URL is where the stand-in listens; it stays the same over restarts. That of the local service is unix:///path or http://127.0.0.1:port, and
// SMOL_LOCAL_URL in the environment of another program takes it. That of the cloud is http://127.0.0.1:port, and SMOL_CLOUD_URL takes it.
func (s *standIn) URL() string { return s.process.URL() }

// Restart stops the server as its operator does, gives requests in flight five seconds, and starts a new one in the same place. The machines
// run on, and the new server adopts them. One that was killed is only started. If it does not start the test fails.
func (s *standIn) Restart() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.process.Restart(ctx); err != nil {
		s.fail(err)
	}
}

// Kill ends the server as SIGKILL does: connections are cut, foreground commands die with it, and nothing is written down. Nobody listens
// until it is restarted. The machines run on.
func (s *standIn) Kill() {
	if err := s.process.Kill(); err != nil {
		s.fail(fmt.Errorf("kill the server: %w", err))
	}
}

// Fault adds a fault, which stays over restarts. Of several that hit the same request the one added first happens. An action that is none of
// the constants is Pass. The log of the test tells at its end of each fault that has hit nothing; a malformed pattern fails the test.
func (s *standIn) Fault(f Fault) *Armed {
	if err := f.check(); err != nil {
		s.fail(err)
	}
	a := &Armed{s.process.Fault(f.fault()), f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = append(s.armed, a)
	return a
}

// ClearFaults removes all faults. A request that is being hit stays so.
func (s *standIn) ClearFaults() { s.process.ClearFaults() }

// Requests returns the requests seen since the start, or since they were forgotten, oldest first. A client that has its answer finds its
// request here. Of more than 10,000 only the newest are kept.
func (s *standIn) Requests() []Request {
	var out []Request
	for _, r := range s.process.Requests() {
		out = append(out, Request{Method: r.Method, Path: r.Path, Query: r.Query, Status: r.Status, Sent: r.Sent})
	}
	return out
}

// Count returns how many of the requests had the method and a path that matches the pattern, in which "*" stands for any one segment, as in
// path.Match: Count("POST", "/api/v1/machines/*/exec"). An empty method stands for all, and so does an empty pattern. A malformed pattern
// matches nothing.
func (s *standIn) Count(method, pattern string) int { return s.process.Count(method, pattern) }

// ForgetRequests empties what Requests returns.
func (s *standIn) ForgetRequests() { s.process.ForgetRequests() }
