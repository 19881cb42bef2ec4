package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
)

// keptBills is how long the usage of a machine can be read once it is deleted.
const keptBills = 30 * 24 * time.Hour

// load takes up what an earlier server left: it adopts the machines that run and removes what is not accounted for.
func (s *Server) load() error {
	if err := errors.Join(s.loadPoints(), s.loadCredentials(), s.loadCaches()); err != nil {
		return err
	}
	records, err := s.store.Load()
	if err != nil {
		return err
	}
	slices.SortFunc(records, func(a, b *record) int { return a.Seq - b.Seq })
	known := map[string]bool{}
	for _, rec := range records {
		s.seq = max(s.seq, rec.Seq)
		if !rec.DeletedAt.IsZero() {
			s.past[rec.ID] = rec
			continue
		}
		known[shelf.Hash(rec.ID)] = true
		if err := s.take(rec); err != nil {
			return err
		}
	}
	for _, dir := range s.store.Dangling(known) {
		if err := s.reclaim(s.store.At(dir)); err != nil {
			return err
		}
	}
	return nil
}

// adopt looks for the machine that runs in a state directory, which may not exist.
func (s *Server) adopt(dir string) (sim.Instance, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, sim.ErrNotRunning
	}
	return s.o.Guest.Adopt(context.WithoutCancel(s.tasks.Context()), dir)
}

// take makes a machine of a record. One that was being started when its server went is ended: nobody has been told that it runs.
func (s *Server) take(rec *record) error {
	inst, err := s.adopt(s.store.Guest(rec.ID))
	if err != nil && !errors.Is(err, sim.ErrNotRunning) {
		return fmt.Errorf("adopting machine %s: %w", rec.ID, err)
	}
	m := s.newMachine(rec)
	s.mu.Lock()
	s.making[rec.Account]++
	s.mu.Unlock()
	s.add(m)
	runs := rec.State == stateStarted || rec.State == statePaused
	switch {
	case inst != nil && !runs:
		return inst.Kill()
	case inst == nil && runs:
		return m.update(func(r *record) {
			r.stopped(s)
			r.note(s, "warn", "machine ended unexpectedly")
		})
	case inst == nil:
		return nil
	}
	m.vm = &vm{inst: inst}
	if rec.Frozen || rec.State == statePaused { // a guest may let go when its server goes
		if err := inst.Freeze(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("machine %s: %w", rec.ID, err)
		}
	}
	m.watch(m.vm)
	return nil
}

// reclaim removes a machine's directory without a record, with a machine that may run in it.
func (s *Server) reclaim(dir string) error {
	guest := filepath.Join(dir, "guest")
	if inst, err := s.adopt(guest); err == nil {
		if err := inst.Kill(); err != nil {
			return err
		}
	}
	if _, err := os.Stat(guest); err == nil {
		if err := s.o.Guest.Remove(guest); err != nil {
			return err
		}
	}
	return s.o.Guest.Remove(dir)
}
