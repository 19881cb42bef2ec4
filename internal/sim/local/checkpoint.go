package local

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/smol-machines/smol-go/internal/sim/disks"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// checkpoint sends the machine's shape and disks. The machine stands still while they are copied.
func (c *call) checkpoint() (any, error) {
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	rec, v := m.snapshot()
	var refusal error
	switch {
	case rec.State == statePaused:
		refusal = m.pausedRefusal()
	case v == nil:
		refusal = conflict("machine '%s' is not running", m.name)
	case len(rec.Mounts) > 0:
		refusal = badRequest("the initial portable checkpoint profile does not support host mounts")
	}
	if refusal != nil {
		m.life.unlock()
		return nil, refusal
	}
	dir, err := task.Step(c.ctx, c.tasks, func() (string, error) { return c.copyDisks(m, v, rec.Frozen) }, func(dir string, _ error) {
		_ = c.o.Guest.Remove(dir)
	})
	m.life.unlock()
	if err != nil {
		return nil, agentFailure("checkpoint", err)
	}
	defer c.o.Guest.Remove(dir)
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.WriteHeader(http.StatusOK)
	if err := disks.Write(c.w, &rec, dir); err != nil {
		c.o.Log.Warn("checkpoint not sent", "machine", m.name, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil, nil
}

// copyDisks copies the disks of a machine to a directory that the caller removes, and returns it.
func (s *Server) copyDisks(m *machine, v *vm, frozen bool) (string, error) {
	dir := s.scratch(m.name)
	if err := v.inst.Freeze(); err != nil {
		return "", err
	}
	err := s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), dir, s.store.Guest(m.name))
	if !frozen {
		err = errors.Join(err, v.inst.Thaw())
	}
	if err != nil {
		_ = s.o.Guest.Remove(dir)
		return "", err
	}
	return dir, nil
}

// restore gives a new machine the shape of a checkpoint.
func (r *record) restore(from *record) {
	r.CPUs, r.MemoryMB, r.StorageGB, r.OverlayGB = from.CPUs, from.MemoryMB, from.StorageGB, from.OverlayGB
	r.Image, r.Images, r.Network = from.Image, from.Images, r.Network || from.Network
	if len(r.Argv) == 0 {
		r.Argv = from.Argv
	}
	if r.Workdir == "" {
		r.Workdir = from.Workdir
	}
	r.Env = environ.Overlay(from.Env, r.Env)
}

// unpack writes the disks of the checkpoint in file to dir.
func unpack(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if err := disks.ReadShape(r, &record{}); err != nil {
		return err
	}
	return disks.Unpack(r, dir)
}
