// Package host runs a stand-in of the local service inside this process: its directory, its listener, its restarts, and the end of
// everything that it made.
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
	"github.com/smol-machines/smol-go/internal/sim/local"
)

// shutdownGrace bounds how long a restart waits for requests in flight.
const shutdownGrace = 5 * time.Second

// dirPrefix begins the names of hosts' directories. It is short: the name of a socket has 104 bytes on some systems.
const dirPrefix = "smolhost"

// Options are what a [Host] is made of.
type Options struct {
	// Server are the knobs of the stand-in. Guest is required; DataDir is chosen by the host.
	Server local.Options
	// TCP makes it listen on a free port of 127.0.0.1 instead of a Unix socket.
	TCP bool
}

// Host is a stand-in that runs. It is safe for concurrent use.
type Host struct {
	opts    Options
	dir     string
	release func() error // gives the directory up

	mu     sync.Mutex
	addr   net.Addr
	server *local.Server // the last one, which may have been killed
	up     bool
	served chan error
	past   []*local.Server
	failed []error // restarts that a fault asked for

	requests recorder
	faults   *fault.Injector
}

// Start runs a stand-in in a new directory of its own.
func Start(o *Options) (*Host, error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, err
	}
	release, err := own(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	h := &Host{opts: *o, dir: dir, release: release, faults: fault.New()}
	h.opts.Server.DataDir = filepath.Join(dir, "data")
	h.opts.Server.Wrap = func(next http.Handler) http.Handler { return h.requests.wrap(h.faults.Wrap(next)) }
	if err := h.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir), release())
	}
	return h, nil
}

// Dir is the directory with everything that the stand-in keeps.
func (h *Host) Dir() string { return h.dir }

// URL is where the stand-in listens: unix:///path or http://127.0.0.1:port. It does not change.
func (h *Host) URL() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opts.TCP {
		return "http://" + h.addr.String()
	}
	return "unix://" + filepath.ToSlash(h.addr.String())
}

// Server is the present stand-in, or the last one after [Host.Kill].
func (h *Host) Server() *local.Server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server
}

// start makes a server and serves; h.mu is held, or nobody else has h.
func (h *Host) start() error {
	opts := h.opts.Server
	s, err := local.New(&opts)
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

func (h *Host) listen() (net.Listener, error) {
	if h.opts.TCP {
		addr := "127.0.0.1:0"
		if h.addr != nil {
			addr = h.addr.String()
		}
		return net.Listen("tcp", addr)
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
func (h *Host) Restart(ctx context.Context) error {
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
func (h *Host) Kill() error {
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
func (h *Host) stopped() {
	<-h.served // nothing but ErrServerClosed after a close
	h.up = false
	h.past = append(h.past, h.server)
}

// Reboots returns how often all servers of the host together have rebooted a machine because they took it for dead.
func (h *Host) Reboots(machine string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.past {
		n += s.Reboots(machine)
	}
	if h.up {
		n += h.server.Reboots(machine)
	}
	return n
}

// Requests are those seen by all servers of the host, oldest first; those that a fault answered are among them.
func (h *Host) Requests() []local.Request { return h.requests.all() }

// ForgetRequests empties what [Host.Requests] returns.
func (h *Host) ForgetRequests() { h.requests.forget() }

// Fault makes the server misbehave, also the next one. A fault that restarts restarts the host unless it says what to call.
func (h *Host) Fault(f fault.Fault) *fault.Armed {
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
func (h *Host) ClearFaults() { h.faults.Reset() }

// Stop ends the server and every machine, and leaves the directory.
func (h *Host) Stop() error {
	return errors.Join(h.stop(), h.release())
}

// Close does what Stop does and removes the directory. What cannot be ended or removed is in the error.
func (h *Host) Close() error {
	err := errors.Join(h.stop(), eachState(h.dir, h.opts.Server.Guest.Remove)) // which knows modes that keep others out
	return errors.Join(err, os.RemoveAll(h.dir), h.release())
}

func (h *Host) stop() error {
	h.faults.Close()
	g := h.opts.Server.Guest
	err := errors.Join(h.Kill(), eachState(h.dir, func(state string) error { return end(g, state) }))
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(append(h.failed, err)...)
}

// eachState runs f on the state directory of every machine of the host in dir, whether a record knows it or not.
func eachState(dir string, f func(state string) error) error {
	states, err := filepath.Glob(filepath.Join(dir, "data", "vms", "*", "guest"))
	if err != nil {
		return err
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
