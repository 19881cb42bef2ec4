package cloud

import (
	"net/http"
)

// pause keeps the machine still. The real one saves its memory and ends.
func (c *call) pause() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		rec, v := m.snapshot()
		if v == nil || rec.State != stateStarted || rec.Frozen {
			return nil, conflict("machine cannot be paused in its state")
		}
		if err := v.inst.Freeze(); err != nil {
			return nil, fail(http.StatusBadGateway, "the node could not pause the machine: %v", err)
		}
		err := m.update(func(r *record) {
			r.stopped(m.s)
			r.State = statePaused
			r.note(m.s, "info", "machine paused")
		})
		if err != nil {
			_ = v.inst.Thaw()
			return nil, err
		}
		return m.json(), nil
	})
}

func (c *call) resume() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	if err := c.payable(); err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		rec, v := m.snapshot()
		if v == nil || rec.State != statePaused {
			return nil, conflict("no saved execution is ready")
		}
		if err := m.begins(); err != nil {
			return nil, err
		}
		defer m.began()
		if err := v.inst.Thaw(); err != nil {
			return nil, fail(http.StatusBadGateway, "the node could not resume the machine: %v", err)
		}
		err := m.update(func(r *record) {
			now := m.s.now()
			r.State, r.StartedAt, r.ActiveAt = stateStarted, now, now
			r.Ports = placed(r.Ports, r.Seq)
			r.Meter.run(now, &r.Resources)
			r.note(m.s, "info", "machine resumed")
		})
		if err != nil {
			return nil, err
		}
		m.began()
		return m.json(), nil
	})
}
