package cloud

import (
	"encoding/json"
	"net/http"
	"os"
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

type deleteQuery struct {
	IncludeUsage bool `serde:"includeUsage,default"`
}

func (c *call) delete() (any, error) {
	var q deleteQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		if err := m.remove("machine deleted"); err != nil {
			return nil, err
		}
		if !q.IncludeUsage || c.o.Old.NoFinalUsage {
			return reply{http.StatusNoContent, nil}, nil
		}
		rec, _ := m.snapshot()
		return c.usageOf(&rec), nil
	})
}

// remove ends a machine, forgets it, and deletes what it leaves on disk; its bill is kept. The caller holds its lock.
func (m *machine) remove(why string) error {
	s := m.s
	if err := m.halt("machine stopped"); err != nil {
		return err
	}
	err := m.update(func(r *record) {
		r.DeletedAt = s.now()
		r.Meter.drop(r.DeletedAt)
		r.note(s, "info", "%s", why)
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.gone = true
	rec := m.rec
	m.mu.Unlock()
	if err := s.discard(m.id); err != nil {
		s.o.Log.Warn("data directory not removed", "machine", m.id, "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past[m.id] = &rec
	s.drop(m)
	return nil
}

// drop takes a machine out of the lists. s.mu is held.
func (s *Server) drop(m *machine) {
	delete(s.machines, m.id)
	if key := slot(m.account, m.rec.Name); s.names[key] == m.id {
		delete(s.names, key)
	}
	for i, other := range s.order {
		if other == m {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// discard removes the directories of a machine that does not run.
func (s *Server) discard(id string) error {
	if _, err := os.Stat(s.store.Guest(id)); err == nil {
		if err := s.o.Guest.Remove(s.store.Guest(id)); err != nil {
			return err
		}
	}
	return os.RemoveAll(s.store.VM(id))
}

func (c *call) get() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return m.json(), nil
}

// list answers with the machines of the account, the oldest first.
func (c *call) list() (any, error) {
	filters, err := c.filters()
	if err != nil {
		return nil, err
	}
	body := []byte{'['}
	for _, m := range c.all() {
		if m.account != c.who.account || !m.has(filters) {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(body, m.json()...)
	}
	body = append(body, ']')
	if c.o.Old.Wrapped {
		return json.RawMessage(`{"machines":` + string(body) + `}`), nil
	}
	return json.RawMessage(body), nil
}

// has reports whether the machine has all the labels.
func (m *machine) has(filters []labelFilter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range filters {
		if v, ok := m.rec.Labels[f.key]; !ok || v != f.value {
			return false
		}
	}
	return true
}
