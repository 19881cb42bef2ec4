package smol

import (
	"context"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

// call runs fn, which talks to the inside of the machine under that id, in one of the places that the machine has for calls. It
// boots a machine that is stopped and refuses, with a *StateError, one that the fleet would harm by booting it.
func (m *Machine) call(ctx context.Context, op string, class limit.Class, fn func(ctx context.Context, id string) error) error {
	return wrapError(op, m.Name(), m.inPlace(ctx, class, fn, m.prepare))
}

// inPlace checks the machine's state from within the place: the queue may be long and the check is itself a connection to the
// machine.
func (m *Machine) inPlace(
	ctx context.Context, class limit.Class, fn func(context.Context, string) error, check func(context.Context) error,
) error {
	id, release, err := m.place(ctx, class, check)
	if err != nil {
		return err
	}
	defer release()
	return fn(ctx, id)
}

// place takes a place for a call, if check lets it through, and returns the machine's id. The caller releases the place.
func (m *Machine) place(ctx context.Context, class limit.Class, check func(context.Context) error) (id string, release func(), err error) {
	if id, err = m.resolve(ctx); err != nil {
		return "", nil, err
	}
	free, err := m.fleet.limits.Acquire(ctx, m.limitKey(id), m.fleet.traits.MaxInFlight, class)
	if err != nil {
		return "", nil, err
	}
	taken := false
	defer func() {
		if !taken {
			free()
		}
	}()
	if check != nil {
		if err := check(ctx); err != nil {
			return "", nil, err
		}
	}
	taken = true
	return id, free, nil
}

func (m *Machine) limitKey(id string) limit.Key {
	return limit.Key{Endpoint: m.fleet.traits.Endpoint, ID: id}
}

// crowded reports whether calls to the machine queue, or soon would.
func (m *Machine) crowded() bool { return m.fleet.limits.Crowded(m.limitKey(m.ID())) }

// bases returns where files of ours may lie in the machine, best first. It knows the mounts once a call has been let through.
func (m *Machine) bases() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil {
		for _, mount := range m.last.Mounts {
			if within("/workspace", mount.Target) || within(mount.Target, "/workspace") {
				return []string{guest.BaseFallback}
			}
		}
	}
	return []string{guest.BaseWorkspace, guest.BaseFallback}
}
