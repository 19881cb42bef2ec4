package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// bootLimit is how long a machine may take until it answers.
const bootLimit = 30 * time.Second

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
