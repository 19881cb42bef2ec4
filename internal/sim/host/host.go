// Package host runs a stand-in of a service inside this process: its directory, its listener, its restarts, and the end of everything
// that it made.
package host

import (
	"net"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// Options are what a [Host] is made of.
type Options struct {
	// Server are the knobs of the stand-in. Guest is required; DataDir is chosen by the host.
	Server local.Options
	// TCP makes it listen on a free port of 127.0.0.1 instead of a Unix socket.
	TCP bool
	// Listen is called for the listener of each server, whose address the URL tells as that of TCP. Such a host sweeps up nothing that others
	// have left, so that it needs nothing but files. Nil: a socket.
	Listen func() (net.Listener, error)
}

// Host is a stand-in of the local service that runs. It is safe for concurrent use.
type Host struct{ *core[*local.Server] }

// Start runs a stand-in in a new directory of its own.
func Start(o *Options) (*Host, error) {
	server := o.Server
	open := func(dataDir string, wrap wrapper) (*local.Server, error) {
		opts := server
		opts.DataDir, opts.Wrap = dataDir, wrap
		return local.New(&opts)
	}
	h := &Host{&core[*local.Server]{tcp: o.TCP || o.Listen != nil, listener: o.Listen, guest: o.Server.Guest, open: open}}
	if err := h.run(); err != nil {
		return nil, err
	}
	return h, nil
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
