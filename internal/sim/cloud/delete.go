package cloud

import (
	"net/http"
	"os"
)

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
	return s.o.Guest.Remove(s.store.VM(id)) // which knows modes that keep others out
}
