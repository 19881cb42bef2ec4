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

// callRead is call for what changes nothing: when the fleet says that there is no such machine, the name is looked up once
// more, since another machine may have it by now.
func (m *Machine) callRead(ctx context.Context, op string, class limit.Class, fn func(ctx context.Context, id string) error) error {
	err := m.inPlace(ctx, class, fn, m.prepare)
	if isMissingMachine(err) && m.forget() {
		err = m.inPlace(ctx, class, fn, m.prepare)
	}
	return wrapError(op, m.Name(), err)
}

// callRunning is call for what makes sense only while the machine runs: it boots nothing.
func (m *Machine) callRunning(ctx context.Context, op string, class limit.Class, fn func(ctx context.Context, id string) error) error {
	return wrapError(op, m.Name(), m.inPlace(ctx, class, fn, m.requireRunning))
}

// inPlace checks the machine's state from within the place: the queue may be long and the check is itself a connection to the
// machine.
func (m *Machine) inPlace(
	ctx context.Context, class limit.Class, fn func(context.Context, string) error, check func(context.Context) error,
) error {
	id, err := m.resolve(ctx)
	if err != nil {
		return err
	}
	release, err := m.fleet.limits.Acquire(ctx, m.limitKey(id), m.fleet.traits.MaxInFlight, class)
	if err != nil {
		return err
	}
	defer release()
	if check != nil {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return fn(ctx, id)
}

func (m *Machine) limitKey(id string) limit.Key {
	return limit.Key{Endpoint: m.fleet.traits.Endpoint, ID: id}
}

// crowded reports whether calls to the machine queue, or soon would.
func (m *Machine) crowded() bool { return m.fleet.limits.Crowded(m.limitKey(m.ID())) }

// plainExec runs a command on the fleet's own wire, without the runner: it dies with the connection, and its output is
// returned whole.
func (m *Machine) plainExec(ctx context.Context, op string, class limit.Class, argv []string) (*ExecResult, error) {
	var res *ExecResult
	err := m.call(ctx, op, class, func(ctx context.Context, id string) (err error) {
		res, err = m.fleet.backend.Exec(ctx, id, &ExecRequest{Argv: argv})
		return err
	})
	return res, err
}

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
