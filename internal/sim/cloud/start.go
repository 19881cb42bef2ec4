package cloud

import (
	"fmt"
	"net/http"

	"github.com/smol-machines/smol-go/internal/sim/task"
)

type startQuery struct {
	Forkable bool `serde:"forkable,default"`
	Detach   bool `serde:"detach,default"`
}

func (c *call) start() (any, error) {
	var q startQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	if err := c.payable(); err != nil {
		return nil, err
	}
	if q.Detach || c.o.DetachStarts {
		return reply{http.StatusAccepted, nil}, c.startLater(m, &q)
	}
	return exclusive(c, m, func() (any, error) {
		if _, v := m.snapshot(); v != nil && c.o.StartedConflict {
			return nil, conflict("machine is already started")
		}
		if _, err := m.wake("start failed", &q); err != nil {
			return nil, err
		}
		return m.json(), nil
	})
}

// startLater starts a machine when nobody waits for it any more. What can be refused at once is.
func (c *call) startLater(m *machine, q *startQuery) error {
	if err := m.refusal(); err != nil {
		return err
	}
	if _, v := m.snapshot(); v != nil {
		return nil
	}
	if err := m.begins(); err != nil { // whoever looks after the answer sees that it is starting
		return err
	}
	ctx := c.tasks.Context()
	c.tasks.Go(func() {
		defer m.began()
		if m.hold(ctx) != nil {
			return
		}
		defer m.life.unlock()
		if _, err := m.wake("start failed", q); err != nil {
			c.o.Log.Warn("start failed", "machine", m.id, "err", err)
		}
	})
	return nil
}

// refusal is why a machine cannot be started in its state.
func (m *machine) refusal() error {
	rec, v := m.snapshot()
	switch {
	case rec.State == statePaused:
		return conflict("machine is paused; resume it first")
	case rec.Frozen && v != nil:
		return conflict("machine is frozen as the base of branches; stop it first")
	}
	return nil
}

// wake makes sure that the machine runs. The caller holds its lock. A failure is also noted in the record, after the word what.
func (m *machine) wake(what string, q *startQuery) (*vm, error) {
	if err := m.refusal(); err != nil {
		return nil, err
	}
	if _, v := m.snapshot(); v != nil {
		return v, nil
	}
	if err := m.begins(); err != nil {
		return nil, err
	}
	defer m.began()
	rec, _ := m.snapshot()
	var v *vm
	err := m.pull(&rec)
	if err == nil {
		v, err = m.boot(&rec)
	}
	if err == nil {
		err = m.commit(v, func(r *record) {
			r.Branchable = r.Branchable || q.Forkable && m.s.o.Old.ForkOnly
			if r.Branchable && r.Root == "" {
				r.Root = r.ID
			}
		})
	}
	if err == nil {
		return v, nil
	}
	if m.s.tasks.Context().Err() != nil {
		return nil, task.ErrAbandoned // it is the server that ends, not the machine that fails
	}
	text := fmt.Sprintf("%s: %v", what, err)
	_ = m.update(func(r *record) {
		r.State, r.Error = stateError, text
		r.note(m.s, "error", "%s", text)
	})
	return nil, internal("%v", err)
}

// begins takes one of the account's places for machines that run, until began is called. One that has it keeps it.
func (m *machine) begins() error {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	m.mu.Lock()
	again := m.starting
	m.mu.Unlock()
	if again {
		return nil
	}
	_, running := s.census(m.account)
	if err := s.quota(0, running+1); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starting = true
	m.stale()
	return nil
}

func (m *machine) began() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starting = false
	m.stale()
}
