package local

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/task"
)

// clones are the names of the machines branched from one, sorted.
func (s *Server) clones(name string) []string {
	var list []string
	for _, m := range s.all() {
		m.mu.Lock()
		if m.rec.Parent == name && !m.gone {
			list = append(list, m.name)
		}
		m.mu.Unlock()
	}
	slices.Sort(list)
	return list
}

// liveClones is the text "2 live clone(s) (a, b)".
func liveClones(names []string) string {
	return fmt.Sprintf("%d live clone(s) (%s)", len(names), strings.Join(names, ", "))
}

func (m *machine) frozenRefusal() error {
	if clones := m.s.clones(m.name); len(clones) > 0 {
		return conflict("machine '%s' is frozen because it is the fork base for %s; delete the clones first", m.name, liveClones(clones))
	}
	return conflict("machine '%s' is frozen because it retains a reusable fork checkpoint; stop it before restarting, or fork it again", m.name)
}

func (m *machine) pausedRefusal() error {
	return conflict("machine '%s' is paused; resume it first", m.name)
}

func (c *call) stop() (any, error) {
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	rec, v := m.snapshot()
	switch {
	case rec.State == statePaused:
		return nil, m.pausedRefusal()
	case v == nil && rec.State != stateRunning:
		return m.info(c.ctx), nil
	case c.version.branchFreezes():
		if clones := c.clones(m.name); len(clones) > 0 {
			return nil, conflict("machine '%s' is the fork base of %s; they CoW-map its memory and disks — stop or delete the clones first", m.name, liveClones(clones))
		}
	}
	if err := stepErr(c.Server, c.ctx, m.down, nil); err != nil {
		if err == task.ErrAbandoned {
			return nil, err
		}
		return nil, internal("machine '%s' process may still be running after stop attempt", m.name)
	}
	err = m.update(func(r *record) { r.State, r.PID, r.Frozen, r.UserStopped = stateStopped, 0, false, true })
	if err != nil {
		return nil, err
	}
	return m.info(c.ctx), nil
}

type deleteQuery struct {
	Cascade bool `serde:"cascade,default"`
	Force   bool `serde:"force,default"`
}

func (c *call) delete() (any, error) {
	var q deleteQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	defer m.life.unlock()
	if err := c.deleteClones(m, q.Cascade); err != nil {
		return nil, err
	}
	if err := c.remove(m); err != nil {
		return nil, err
	}
	return struct {
		Deleted string `json:"deleted"`
	}{m.name}, nil
}

// deleteClones removes the machines branched from m, or refuses. Those who hold its lock keep new ones from appearing.
func (c *call) deleteClones(m *machine, cascade bool) error {
	clones := c.clones(m.name)
	if len(clones) == 0 || !cascade && !c.version.branchFreezes() {
		return nil
	}
	if !cascade {
		return conflict("machine '%s' is the fork base of %s; their disks are backed by its disks — delete the clones first", m.name, liveClones(clones))
	}
	for _, name := range clones {
		clone, err := c.find(name)
		if err != nil {
			continue
		}
		if err := clone.life.lock(c.ctx); err != nil {
			return err
		}
		err = c.deleteClones(clone, true)
		if err == nil {
			err = c.remove(clone)
		}
		clone.life.unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// remove ends a machine and deletes its record, then what it leaves on disk. The caller holds its lock.
func (c *call) remove(m *machine) error {
	m.mu.Lock()
	limbo, booting := m.limbo, m.booting
	m.mu.Unlock()
	if limbo != nil && limbo.alive() || booting != nil {
		return internal("machine '%s' process (pid unknown) is still alive after shutdown; not removing", m.name)
	}
	_, v := m.snapshot()
	if err := stepErr(c.Server, c.ctx, m.down, nil); err != nil {
		if err == task.ErrAbandoned || v == nil {
			return err
		}
		return internal("machine '%s' process (pid %d) is still alive after shutdown; not removing", m.name, v.inst.PID())
	}
	if err := c.store.Remove(m.name); err != nil {
		return internal("database error: %v", err)
	}
	if err := c.discard(m.name); err != nil {
		c.o.Log.Warn("data directory not removed", "machine", m.name, "err", err)
	}
	c.forget(m) // last, so that a new machine of the name finds the directory gone
	return nil
}

// forget takes a machine out of the registry and the database's image in memory.
func (s *Server) forget(m *machine) {
	m.mu.Lock()
	m.gone = true
	m.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machines[m.name] == m {
		delete(s.machines, m.name)
	}
}

// discard removes the directories of a machine that does not run.
func (s *Server) discard(name string) error {
	if _, err := os.Stat(s.store.Guest(name)); err == nil {
		if err := s.o.Guest.Remove(s.store.Guest(name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(s.store.VM(name))
}
