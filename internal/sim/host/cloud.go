package host

import (
	"net"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

// CloudOptions are what a [Cloud] is made of.
type CloudOptions struct {
	// Server are the knobs of the stand-in. Guest and a key are required; DataDir is chosen by the host.
	Server cloud.Options
	// Listen is called for the listener of each server; see [Options.Listen]. Nil: a port of 127.0.0.1.
	Listen func() (net.Listener, error)
}

// Cloud is a stand-in of the cloud service that runs, on a port of 127.0.0.1. It is safe for concurrent use.
type Cloud struct{ *core[*cloud.Server] }

// StartCloud runs a stand-in in a new directory of its own.
func StartCloud(o *CloudOptions) (*Cloud, error) {
	server := o.Server
	open := func(dataDir string, wrap wrapper) (*cloud.Server, error) {
		opts := server
		opts.DataDir, opts.Wrap = dataDir, wrap
		return cloud.New(&opts)
	}
	h := &Cloud{&core[*cloud.Server]{tcp: true, listener: o.Listen, guest: o.Server.Guest, open: open}}
	if err := h.run(); err != nil {
		return nil, err
	}
	return h, nil
}

// Boots returns how often all servers of the host together have booted a machine, named by its id or its name.
func (h *Cloud) Boots(machine string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.past {
		n += s.Boots(machine)
	}
	if h.up {
		n += h.server.Boots(machine)
	}
	return n
}
