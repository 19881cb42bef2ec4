package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
)

// load takes up what an earlier server left: it adopts the machines that run, deletes those that died unseen, and removes directories
// without a record.
func (s *Server) load() error {
	records, err := s.store.Load()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var found []string
	for _, rec := range records {
		kept, adopted, err := s.take(rec)
		if err != nil {
			return err
		}
		if kept {
			known[shelf.Hash(rec.Name)] = true
		}
		if adopted {
			found = append(found, rec.Name)
		}
	}
	if slices.Sort(found); len(found) > 0 {
		fmt.Fprintf(s.o.Stdout, "Reconnected to %d existing machine(s): %s\n", len(found), strings.Join(found, ", "))
	}
	dangling := s.store.Dangling(known)
	for _, dir := range dangling {
		if err := s.reclaim(dir); err != nil {
			return err
		}
	}
	if len(dangling) > 0 {
		fmt.Fprintf(s.o.Stdout, "Reclaimed %d dangling VM data dir(es)\n", len(dangling))
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

// take makes a machine of a record.
func (s *Server) take(rec *record) (kept, adopted bool, err error) {
	if err := s.sweep(s.store.VM(rec.Name)); err != nil {
		return false, false, fmt.Errorf("clearing up after machine %s: %w", rec.Name, err)
	}
	inst, err := s.adopt(s.store.Guest(rec.Name))
	if err != nil && !errors.Is(err, sim.ErrNotRunning) {
		return false, false, fmt.Errorf("adopting machine %s: %w", rec.Name, err)
	}
	runs := rec.State == stateRunning
	switch {
	case inst == nil && runs && !s.o.KeepDead:
		return false, false, errors.Join(s.store.Remove(rec.Name), s.discard(rec.Name))
	case inst == nil && (runs || rec.State == statePaused):
		rec.State, rec.PID, rec.Frozen = stateStopped, 0, false
	}
	m, err := s.insert(rec, true)
	if err != nil || inst == nil {
		return true, false, err
	}
	m.userStopped = rec.UserStopped
	v := newVM(inst)
	v.sources = rec.resolved()
	if v.ports, err = listen(rec.Ports); err != nil {
		s.o.Log.Warn("published ports are taken", "machine", rec.Name, "err", err)
		v.ports, _ = listen(nil)
	}
	if !runs && rec.State != statePaused { // left by a start that was abandoned
		m.limbo = v
		return true, false, nil
	}
	v.ports.serve(inst, rec.Ports)
	m.vm = v
	return true, true, s.freezeAgain(v, rec)
}

// reclaim removes a directory without a record, with a machine that may run in it.
func (s *Server) reclaim(dir string) error {
	vm := s.store.At(dir)
	if err := s.sweep(vm); err != nil {
		return err
	}
	guest := filepath.Join(vm, "guest")
	if inst, err := s.adopt(guest); err == nil {
		_ = inst.Kill()
	}
	if _, err := os.Stat(guest); err == nil {
		if err := s.o.Guest.Remove(guest); err != nil {
			return err
		}
	}
	return os.RemoveAll(vm)
}

// AddRecord writes the record of a new machine behind the server's back, as the service's command line does: reads show the machine, calls
// that need it in the server's registry do not find it until it has been started or the server restarts. The image may be empty.
func (s *Server) AddRecord(name, image string) error {
	if wrong := checkName("machine name", name); wrong != "" {
		return errors.New(wrong)
	}
	release, err := s.reserve(name)
	if err != nil {
		return err
	}
	defer release()
	if err := s.store.Prepare(name); err != nil {
		return err
	}
	_, err = s.insert(&record{
		Name: name, State: stateCreated, CreatedAt: time.Now().Unix(), CPUs: 4, MemoryMB: 8192, StorageGB: 20, OverlayGB: 10, Image: image, Network: image != "",
	}, false)
	return err
}
