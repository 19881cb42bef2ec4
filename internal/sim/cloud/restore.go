package cloud

import (
	"context"
	"errors"
	"net/http"

	"github.com/smol-machines/smol-go/internal/sim/disks"
)

type restoreCheckpointRequest struct {
	Name      string          `serde:"name"`
	Network   *machineNetwork `serde:"network"`
	CacheDisk *cacheDiskRef   `serde:"cacheDisk"`
}

// restore makes a stopped machine of a checkpoint.
func (c *call) restore() (any, error) {
	var req restoreCheckpointRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	p, err := c.point()
	if err != nil {
		return nil, err
	}
	if c.o.Old.NoPolicy {
		req.Network = nil
	}
	rec := p.Shape.record()
	rec.Account, rec.Name, rec.Checkpoint = c.who.account, req.Name, p.ID
	if rec.Network, err = c.checkNetwork(req.Network, modeBlocked); err != nil {
		return nil, err
	}
	if err := checkName(rec.Name); err != nil {
		return nil, err
	}
	if err := c.swapCache(rec, req.CacheDisk); err != nil {
		return nil, err
	}
	if p.Status != pointAvailable {
		return nil, conflict("checkpoint is not available: it is %s", p.Status)
	}
	if err := errors.Join(c.payable(), c.fits(&rec.Resources)); err != nil {
		return nil, err
	}
	m, err := c.revive(p, rec)
	if err != nil {
		return nil, err
	}
	return reply{http.StatusCreated, m.json()}, nil
}

// swapCache puts another cache disk into the slot of a machine to be, where it has one that is large enough.
func (c *call) swapCache(rec *record, ref *cacheDiskRef) error {
	if ref == nil {
		return nil
	}
	use, err := c.useCache(ref)
	if err != nil {
		return err
	}
	switch {
	case rec.Cache == nil || !rec.Cache.Slot:
		return unprocessable("the machine was captured without a slot for a cache disk")
	case use.SizeGB > rec.Cache.SizeGB:
		return unprocessable("the cache disk has %d GB, the slot only %d", use.SizeGB, rec.Cache.SizeGB)
	}
	use.Path, use.Slot = rec.Cache.Path, false
	rec.Cache = use
	return nil
}

// revive copies the disks and makes the machine known. It leaves nothing behind when it fails.
func (s *Server) revive(p *checkpoint, rec *record) (*machine, error) {
	s.christen(rec)
	release, err := s.reserve([]*record{rec})
	if err != nil {
		return nil, err
	}
	if err = s.store.Prepare(rec.ID); err == nil {
		err = s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), s.store.Guest(rec.ID), s.disksOf(p.ID))
	}
	if err == nil && rec.Cache != nil && exists(s.cacheOf(p.ID)) && p.Shape.Cache.ID == rec.Cache.ID {
		err = disks.Copy(s.ownCache(rec.ID), s.cacheOf(p.ID))
	}
	if err == nil {
		err = s.store.Save(rec)
	}
	if err != nil {
		release()
		return nil, fail(http.StatusBadGateway, "the checkpoint could not be restored: %v", errors.Join(err, s.discard(rec.ID)))
	}
	m := s.newMachine(rec)
	s.add(m)
	return m, nil
}

type rollbackRequest struct {
	CheckpointID *string `serde:"checkpointId"`
}

// rollback replaces the disks of a machine by those of one of its checkpoints, the newest unless it says which, and starts it again.
func (c *call) rollback() (any, error) {
	var req rollbackRequest
	if err := c.decodeMaybe(&req); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		p, err := m.target(req.CheckpointID)
		if err != nil {
			return nil, err
		}
		for _, other := range c.all() {
			if rec, _ := other.snapshot(); rec.Parent == m.id {
				return nil, conflict("machine has live branches")
			}
		}
		if err := m.halt("machine stopped to be rolled back"); err != nil {
			return nil, err
		}
		guest := c.store.Guest(m.id)
		if err := c.o.Guest.Remove(guest); err != nil {
			return nil, err
		}
		if err := c.o.Guest.Copy(context.WithoutCancel(c.tasks.Context()), guest, c.disksOf(p.ID)); err != nil {
			return nil, fail(http.StatusBadGateway, "the checkpoint could not be restored: %v", err)
		}
		if _, err := m.wake("start failed", &startQuery{}); err != nil {
			return nil, err
		}
		return m.json(), nil
	})
}

// target is the checkpoint to go back to.
func (m *machine) target(id *string) (*checkpoint, error) {
	for _, p := range m.s.pointsOf(m.id) {
		switch {
		case id == nil && p.Status == pointAvailable:
			return p, nil
		case id != nil && *id == p.ID && p.Status != pointAvailable:
			return nil, conflict("checkpoint is not available: it is %s", p.Status)
		case id != nil && *id == p.ID:
			return p, nil
		}
	}
	if id == nil {
		return nil, conflict("machine has no checkpoint")
	}
	return nil, fail(http.StatusNotFound, "checkpoint not found")
}
