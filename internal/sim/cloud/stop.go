package cloud

import (
	"net/http"
	"time"
)

// stopped is what the record says of a machine that does not run any more.
func (r *record) stopped(s *Server) {
	r.State, r.Frozen, r.ReadyAt, r.StartedAt = stateStopped, false, time.Time{}, time.Time{}
	r.Meter.halt(s.now())
	ports := make([]port, 0, len(r.Ports))
	for _, p := range r.Ports {
		ports = append(ports, port{Port: p.Port})
	}
	r.Ports = ports
}

func (c *call) stop() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		if err := m.halt("machine stopped"); err != nil {
			return nil, err
		}
		answer := m.json()
		return answer, m.reap("deleted because it stopped")
	})
}

// halt ends what runs and takes the last sample. The caller holds the machine's lock. A machine that does not run is left as it is.
func (m *machine) halt(why string) error {
	m.mu.Lock()
	v := m.vm
	m.vm = nil
	paused := m.rec.State == statePaused
	m.mu.Unlock()
	if v != nil {
		if err := v.inst.Kill(); err != nil {
			m.mu.Lock()
			m.vm = v
			m.mu.Unlock()
			return fail(http.StatusBadGateway, "the node could not stop the machine: %v", err)
		}
	}
	if v == nil && !paused {
		return nil
	}
	return m.update(func(r *record) {
		r.stopped(m.s)
		r.note(m.s, "info", "%s", why)
	})
}

// reap deletes an ephemeral machine that has stopped.
func (m *machine) reap(why string) error {
	rec, _ := m.snapshot()
	if !rec.Ephemeral || !rec.Used || rec.State != stateStopped {
		return nil
	}
	return m.remove(why)
}
