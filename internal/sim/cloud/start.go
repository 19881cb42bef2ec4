package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// bootLimit is how long a machine may take until it answers.
const bootLimit = 30 * time.Second

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

// pull is what comes before the boot of a machine that has an image.
func (m *machine) pull(rec *record) error {
	if err := m.s.credentialsThere(rec); err != nil {
		return err
	}
	if err := m.s.o.Pull(m.s.tasks.Context(), rec.Source.Reference); err != nil {
		return fmt.Errorf("pull image: %w", err)
	}
	return nil
}

// boot starts the machine from its record. Nothing is left running when it fails.
func (m *machine) boot(rec *record) (*vm, error) {
	s := m.s
	ctx, cancel := context.WithTimeout(s.tasks.Context(), bootLimit)
	defer cancel()
	if err := s.store.Prepare(rec.ID); err != nil {
		return nil, err
	}
	if err := errors.Join(s.furnish(rec), s.fillCache(rec)); err != nil {
		return nil, err
	}
	dir := s.store.Guest(rec.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	inst, err := s.o.Guest.Boot(ctx, &sim.Boot{Dir: dir, Name: rec.Name, Image: rec.image(), Mounts: s.mounts(rec)})
	switch {
	case errors.Is(err, sim.ErrNoImage):
		return nil, fmt.Errorf("pull image: %w", err)
	case err != nil:
		if cause := s.o.Guest.Supported(); cause != nil {
			return nil, fmt.Errorf("no hypervisor: %w", cause)
		}
		return nil, err
	}
	if err := os.WriteFile(s.store.Console(rec.ID), []byte(inst.Console()), 0o600); err != nil {
		return nil, errors.Join(err, inst.Kill())
	}
	return &vm{inst: inst}, nil
}

// mounts is where the machine sees its cache disk.
func (s *Server) mounts(rec *record) []sim.Mount {
	if rec.Cache == nil || rec.Cache.Slot {
		return nil
	}
	return []sim.Mount{{Source: s.ownCache(rec.ID), Target: rec.Cache.Path}}
}

// commit records that the machine runs, and launches what it is for. If the server has begun to close the machine is ended.
func (m *machine) commit(v *vm, change func(*record)) error {
	s := m.s
	m.mu.Lock()
	err := s.tasks.Context().Err()
	if err == nil {
		err = m.updateLocked(func(r *record) {
			now := s.now()
			r.State, r.Error, r.StartedAt, r.ReadyAt, r.ActiveAt, r.Used = stateStarted, "", now, time.Time{}, now, true
			r.Ports = placed(r.Ports, r.Seq)
			r.Meter.run(now, &r.Resources)
			r.note(s, "info", "machine started")
			change(r)
		})
	}
	if err == nil {
		m.vm = v
		m.boots++
	}
	rec := m.rec
	m.mu.Unlock()
	if err != nil {
		return errors.Join(err, v.inst.Kill())
	}
	m.watch(v)
	m.workload(v, &rec)
	return nil
}

// placed gives every port one of the host's. They are told, but nobody listens there: the connect bridge leads to the machine.
func placed(ports []port, seq int) []port {
	return rehosted(nil, append([]port{}, ports...), seq)
}

// watch takes note when the machine ends by itself.
func (m *machine) watch(v *vm) {
	ctx := m.s.tasks.Context()
	m.s.tasks.Go(func() {
		select {
		case <-v.inst.Done():
		case <-ctx.Done():
		}
		if ctx.Err() == nil {
			m.ended(v)
		}
	})
}

// ended notes that the machine is gone, unless that was meant.
func (m *machine) ended(v *vm) {
	m.mu.Lock()
	mine := m.vm == v
	if mine {
		m.vm = nil
		if err := m.updateLocked(func(r *record) {
			r.stopped(m.s)
			r.note(m.s, "warn", "machine ended unexpectedly")
		}); err != nil {
			m.s.o.Log.Warn("machine ended", "machine", m.id, "err", err)
		}
	}
	ephemeral := m.rec.Ephemeral
	m.mu.Unlock()
	if !mine || !ephemeral || m.hold(m.s.tasks.Context()) != nil {
		return
	}
	defer m.life.unlock()
	if err := m.remove("deleted because it ended"); err != nil {
		m.s.o.Log.Warn("machine not deleted", "machine", m.id, "err", err)
	}
}
