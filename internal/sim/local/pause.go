package local

import "github.com/smol-machines/smol-go/internal/sim/task"

// pause halts the machine. The real one saves its memory and ends its process; here the processes are kept still.
func (c *call) pause() (any, error) {
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	rec, v := m.snapshot()
	switch {
	case rec.State == statePaused:
		return nil, conflict("machine '%s' is already paused", m.name)
	case v == nil || rec.Frozen:
		return nil, conflict("machine '%s' is not running", m.name)
	}
	err = stepErr(c.Server, c.ctx, v.inst.Freeze, func(err error) {
		if err == nil {
			_ = v.inst.Thaw()
		}
	})
	if err != nil {
		return nil, agentFailure("pause", err)
	}
	if err := m.update(func(r *record) { r.State, r.PID = statePaused, 0 }); err != nil {
		_ = v.inst.Thaw()
		return nil, err
	}
	return m.info(c.ctx), nil
}

func (c *call) resume() (any, error) {
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	rec, v := m.snapshot()
	if rec.State != statePaused {
		return nil, conflict("machine '%s' is not paused", m.name)
	}
	if v == nil {
		return nil, internal("agent operation failed: resume: the saved state of machine '%s' cannot be read", m.name)
	}
	if err := stepErr(c.Server, c.ctx, v.inst.Thaw, nil); err != nil {
		return nil, agentFailure("resume", err)
	}
	if err := m.update(func(r *record) { r.State, r.PID = stateRunning, v.inst.PID() }); err != nil {
		return nil, err
	}
	return m.info(c.ctx), nil
}

// agentFailure wraps an error of the guest as the service does one of its agent's.
func agentFailure(op string, err error) error {
	if err == task.ErrAbandoned {
		return err
	}
	return internal("agent operation failed: %s: %v", op, err)
}
