package smol

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// cleanupTime bounds deletes and look-ups that must happen although the caller's context has ended.
const cleanupTime = 30 * time.Second

// discards is how often a delete is tried whose answers are lost.
const discards = 3

// Machine is a handle of one machine of a fleet. It holds no resource of the machine: dropping it changes nothing,
// and any number of handles can exist. It is safe for concurrent use.
type Machine struct {
	fleet *Fleet
	ref   string // what the handle was made from

	mu   sync.Mutex
	id   string // what ref turned out to mean; "" until then
	name string
	last *Info // as observed last

	checks checks
	guest  guestState
	files  fileState
	booted atomic.Bool
}

// Fleet returns the fleet that the machine belongs to.
func (m *Machine) Fleet() *Fleet { return m.fleet }

// Name returns the machine's name, or what the handle was made from as long as no call has asked the fleet.
func (m *Machine) Name() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return orElse(m.name, orElse(m.id, m.ref))
}

// ID returns what the fleet knows the machine by, or "" as long as no call has asked the fleet. Locally it is the name.
func (m *Machine) ID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.id
}

// Info asks the fleet about the machine. It matches [ErrNotFound] when there is none.
func (m *Machine) Info(ctx context.Context) (*Info, error) {
	info, err := m.inspect(ctx)
	if isMissingMachine(err) && m.forget() {
		info, err = m.inspect(ctx)
	}
	return info, wrapError("inspect", m.Name(), err)
}

// Start boots the machine; one that runs is left as it is. It returns when the fleet says that the machine runs, which may be
// before commands do: see [Machine.WaitReady].
func (m *Machine) Start(ctx context.Context, opts *StartOptions) error {
	return m.change(ctx, "start", func(id string) (*Info, error) {
		info, err := m.fleet.backend.Start(ctx, id, opts)
		return info, nameImage(err, m.image())
	})
}

// Stop shuts the machine down and keeps its disks; one that does not run is left as it is. Commands in it die.
func (m *Machine) Stop(ctx context.Context, opts *StopOptions) error {
	return m.change(ctx, "stop", func(id string) (*Info, error) {
		open, err := m.fleet.limits.Shut(ctx, m.limitKey(id), m.fleet.traits.MaxInFlight)
		if err != nil {
			return nil, err
		}
		defer open()
		return m.fleet.backend.Stop(ctx, id, opts)
	})
}

// Delete removes the machine and its disks, running or not. It matches [ErrNotFound] when there is none, and
// [ErrConflict] when branches of it need its disks.
func (m *Machine) Delete(ctx context.Context, opts *DeleteOptions) error {
	return m.change(ctx, "delete", func(id string) (*Info, error) {
		return nil, m.fleet.backend.Delete(ctx, id, opts)
	})
}

// Discard deletes the machine, for use with defer: it has 30 seconds of its own, so that it works after the context of its function
// has ended, and a machine that is gone already is no error.
func (m *Machine) Discard() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	return m.discard(ctx)
}

// discard deletes the machine. When the answer is lost it looks whether the machine is still there, and if so tries again.
func (m *Machine) discard(ctx context.Context) error {
	if _, err := m.resolve(ctx); err != nil && !isMissingMachine(err) {
		return wrapError("delete", m.Name(), err)
	}
	created := m.created()
	pause := newPause(200*time.Millisecond, time.Second)
	for try := 1; ; try++ {
		err := m.Delete(ctx, nil)
		if isMissingMachine(err) {
			return nil
		}
		if !ambiguous(err) || try == discards || pause.wait(ctx) != nil {
			return err
		}
		info, lookErr := m.inspect(ctx)
		if isMissingMachine(lookErr) || lookErr == nil && !created.IsZero() && !info.CreatedAt.Equal(created) {
			return nil // somebody else's machine has the name by now
		}
	}
}

// created returns when the machine was created, if that was told.
func (m *Machine) created() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return time.Time{}
	}
	return m.last.CreatedAt
}

// image returns the image that the fleet last said the machine has, or "".
func (m *Machine) image() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return ""
	}
	return m.last.Image
}

// change runs a call that changes the machine as a whole.
func (m *Machine) change(ctx context.Context, op string, fn func(id string) (*Info, error)) error {
	id, err := m.resolve(ctx)
	if err == nil {
		var info *Info
		if info, err = fn(id); info != nil {
			m.observe(info)
		}
	}
	return wrapError(op, m.Name(), err)
}
