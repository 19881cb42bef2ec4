package smol

import (
	"context"
	"iter"
	"maps"

	"github.com/smol-machines/smol-go/internal/limit"
)

// Fleet is a service that has machines, seen through what the local and the cloud service share. Code that takes a
// Fleet works on both. It is safe for concurrent use. The services of smol/local and smol/cloud embed one; [NewFleet]
// makes one from a [Backend] of your own.
type Fleet struct {
	backend Backend
	traits  Traits
	limits  *limit.Registry
}

// NewFleet returns a fleet on the backend. It does no I/O.
func NewFleet(b Backend) *Fleet {
	return &Fleet{backend: b, traits: b.Traits(), limits: limit.Process()}
}

// Backend returns the backend that the fleet was made from.
func (f *Fleet) Backend() Backend { return f.backend }

// Close releases what the fleet holds, such as connections. It stops and deletes no machine.
func (f *Fleet) Close() error { return f.backend.Close() }

// Machine returns a handle of the machine with that name or id. It does no I/O: whether there is such a machine shows
// at the first call, which finds out the id; later calls mean the machine with that id, even when the name has passed
// to another one.
func (f *Fleet) Machine(ref string) *Machine {
	return &Machine{fleet: f, ref: ref}
}

// ListOptions are the knobs of [Fleet.List]. Nil and the zero value list everything.
type ListOptions struct {
	// Labels restricts the list to machines that carry all of these, on a fleet with labels.
	Labels map[string]string
}

// List yields the machines of the fleet, also those that others made. The first error ends the sequence. Ranging
// again asks again.
func (f *Fleet) List(ctx context.Context, opts *ListOptions) iter.Seq2[*Info, error] {
	var labels map[string]string
	if opts != nil {
		labels = maps.Clone(opts.Labels)
	}
	return func(yield func(*Info, error) bool) {
		for info, err := range f.backend.List(ctx, labels) {
			if err != nil {
				yield(nil, wrapError("list", "", err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// handle returns a handle of a machine that the fleet has just described.
func (f *Fleet) handle(info *Info) *Machine {
	m := f.Machine(info.ID)
	m.observe(info)
	return m
}
