package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/seen"
)

// shutdownGrace bounds how long a restart waits for requests in flight.
const shutdownGrace = 5 * time.Second

// dirPrefix begins the names of hosts' directories. It is short: the name of a socket has 104 bytes on some systems.
const dirPrefix = "smolhost"

// server is a stand-in of either service.
type server interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// wrapper stands before a server.
type wrapper func(http.Handler) http.Handler

// core is what the hosts of both services have in common. It is safe for concurrent use.
type core[S server] struct {
	tcp      bool
	listener func() (net.Listener, error) // unless nil, makes the listeners
	guest    sim.Guest
	open     func(dataDir string, wrap wrapper) (S, error)
	dir      string
	release  func() error // gives the directory up

	mu     sync.Mutex
	addr   net.Addr // of TCP, known from the beginning
	server S        // the last one, which may have been killed
	up     bool
	served chan error
	past   []S
	failed []error // restarts that a fault asked for

	requests seen.Log
	faults   *fault.Injector
}

// run makes a directory and starts a server in it.
func (h *core[S]) run() error {
	if h.listener == nil {
		sweep(os.TempDir())
	}
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return err
	}
	release, err := own(dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if h.tcp && h.listener == nil {
		addr, free, err := reserve()
		if err != nil {
			return errors.Join(err, os.RemoveAll(dir), release())
		}
		h.addr, release = addr, both(release, free)
	}
	h.dir, h.release, h.faults = dir, release, fault.New()
	if err := h.start(); err != nil {
		return errors.Join(err, os.RemoveAll(dir), release())
	}
	return nil
}

// both calls both.
func both(a, b func() error) func() error {
	return func() error { return errors.Join(a(), b()) }
}

// Dir is the directory with everything that the stand-in keeps.
func (h *core[S]) Dir() string { return h.dir }

// URL is where the stand-in listens: unix:///path or http://127.0.0.1:port. It does not change.
func (h *core[S]) URL() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tcp {
		return "http://" + h.addr.String()
	}
	return "unix://" + filepath.ToSlash(h.addr.String())
}

// Server is the present stand-in, or the last one after [core.Kill].
func (h *core[S]) Server() S {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server
}

// start makes a server and serves; h.mu is held, or nobody else has h.
func (h *core[S]) start() error {
	s, err := h.open(filepath.Join(h.dir, "data"), func(next http.Handler) http.Handler { return h.requests.Wrap(h.faults.Wrap(next)) })
	if err != nil {
		return err
	}
	l, err := h.listen()
	if err != nil {
		return errors.Join(err, s.Close())
	}
	h.server, h.addr, h.up, h.served = s, l.Addr(), true, make(chan error, 1)
	go func(done chan<- error) { done <- s.Serve(l) }(h.served)
	return nil
}

func (h *core[S]) listen() (net.Listener, error) {
	if h.listener != nil {
		return h.listener()
	}
	if h.tcp {
		// The last of what a killed server had may hold the port for a moment.
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			l, err := net.Listen("tcp", h.addr.String())
			if err == nil || !time.Now().Before(end) {
				return l, err
			}
		}
	}
	path := filepath.Join(h.dir, "s")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a server that was killed
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Restart stops the server as an operator does, waiting a little for requests in flight, and starts a new one in the same place. One that was
// killed is only started.
func (h *core[S]) Restart(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.up {
		ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
		defer cancel()
		// Requests that are still in flight have been cut off; that is no failure of the restart.
		if err := h.server.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("stop the server: %w", err)
		}
		h.stopped()
	}
	if err := h.start(); err != nil {
		return fmt.Errorf("start the server again: %w", err)
	}
	return nil
}

// Kill ends the server as SIGKILL does: connections are cut, foreground commands die with it, nothing is written down. Machines run on.
func (h *core[S]) Kill() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.up {
		return nil
	}
	err := h.server.Close()
	h.stopped()
	return err
}

// stopped takes note that the server has closed.
func (h *core[S]) stopped() {
	<-h.served // nothing but ErrServerClosed after a close
	h.up = false
	h.past = append(h.past, h.server)
}

// Requests are those seen by all servers of the host, oldest first; those that a fault answered are among them.
func (h *core[S]) Requests() []seen.Request { return h.requests.All() }

// Count returns how many of them had the method and the path; see [seen.Log.Count].
func (h *core[S]) Count(method, pattern string) int { return h.requests.Count(method, pattern) }

// ForgetRequests empties what [core.Requests] returns.
func (h *core[S]) ForgetRequests() { h.requests.Forget() }

// Fault makes the server misbehave, also the next one. A fault that restarts restarts the host unless it says what to call.
func (h *core[S]) Fault(f fault.Fault) *fault.Armed {
	if f.Action == fault.Restart && f.Call == nil {
		f.Call = func() {
			err := h.Restart(context.Background())
			h.mu.Lock()
			defer h.mu.Unlock()
			h.failed = append(h.failed, err)
		}
	}
	return h.faults.Add(f)
}

// ClearFaults removes all faults.
func (h *core[S]) ClearFaults() { h.faults.Reset() }

// Stop ends the server and every machine, and leaves the directory.
func (h *core[S]) Stop() error {
	return errors.Join(h.stop(), h.release())
}

// Close does what Stop does and removes the directory. What cannot be ended or removed is in the error.
func (h *core[S]) Close() error {
	err := errors.Join(h.stop(), eachState(h.dir, h.guest.Remove)) // which knows modes that keep others out
	return errors.Join(err, os.RemoveAll(h.dir), h.release())
}

func (h *core[S]) stop() error {
	h.faults.Close()
	g := h.guest
	err := errors.Join(h.Kill(), eachState(h.dir, func(state string) error { return end(g, state) }))
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(append(h.failed, err)...)
}

// eachState runs f on the state directory of every machine, checkpoint and artifact of the host in dir, whether a record knows it or not, on their
// cache disks, and on what was made for one call.
func eachState(dir string, f func(state string) error) error {
	var states []string
	for _, pattern := range []string{"vms/*/guest", "vms/*/scratch-*", "vms/*/cache", "checkpoints/*/guest", "checkpoints/*/cache", "artifacts/*/guest", "caches/*/v*"} {
		list, err := filepath.Glob(filepath.Join(dir, "data", filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		states = append(states, list...)
	}
	errs := make([]error, len(states))
	var wg sync.WaitGroup
	for n, state := range states {
		wg.Go(func() { errs[n] = f(state) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// end ends the machine in the state directory, if one runs.
func end(g sim.Guest, state string) error {
	in, err := g.Adopt(context.Background(), state)
	if err != nil {
		return nil // nobody is there
	}
	pid := in.PID()
	if err := in.Kill(); err != nil {
		return fmt.Errorf("kill the machine in %s: %w", state, err)
	}
	if pid != 0 && alive(pid) {
		return fmt.Errorf("the machine in %s was killed and its process %d is left", state, pid)
	}
	return nil
}
