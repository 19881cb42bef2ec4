//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/smol-machines/smol-go/internal/sim"
)

// Guest stands for machines in Linux namespaces, which this system does not have: every method returns an [*Error] matching
// errors.ErrUnsupported.
type Guest struct{}

// New returns a guest that supports nothing; the options have no effect on this system.
func New(*Options) *Guest { return &Guest{} }

// Supported returns the reason why there are no machines on this system.
func (*Guest) Supported() error { return unsupported() }

// Boot returns the reason why there are no machines on this system.
func (*Guest) Boot(context.Context, *sim.Boot) (sim.Instance, error) { return nil, unsupported() }

// Adopt returns sim.ErrNotRunning, as nothing can be running.
func (*Guest) Adopt(_ context.Context, dir string) (sim.Instance, error) {
	return nil, fmt.Errorf("adopt %s: %w", dir, sim.ErrNotRunning)
}

// Copy returns the reason why there are no machines on this system.
func (*Guest) Copy(context.Context, string, string) error { return unsupported() }

// Remove returns the reason why there are no machines on this system.
func (*Guest) Remove(string) error { return unsupported() }

func unsupported() error {
	return &Error{
		Step:   "platform",
		Err:    fmt.Errorf("machines are made of Linux namespaces, which %s does not have: %w", runtime.GOOS, errors.ErrUnsupported),
		Remedy: "answer commands in Go with smoltest.Script, or run this on Linux",
	}
}
