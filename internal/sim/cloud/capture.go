package cloud

import (
	"context"
	"errors"
	"net/http"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/internal/sim/disks"
)

type captureQuery struct {
	Wait *bool `serde:"wait"`
}

// capture makes a checkpoint of a machine that runs.
func (c *call) capture() (any, error) {
	var q captureQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	wait := valueOr(q.Wait, true)
	made := make(chan *checkpoint, 1)
	work := func() (any, error) {
		p, err := m.newPoint()
		if err != nil {
			return nil, err
		}
		made <- p
		if p, err = m.fill(p); err != nil {
			return nil, fail(http.StatusBadGateway, "the checkpoint could not be stored: %v", err)
		}
		return reply{http.StatusCreated, p.view()}, nil
	}
	if wait {
		return exclusive(c, m, work)
	}
	failed := make(chan error, 1)
	c.tasks.Go(func() {
		_, err := exclusive(c.detached(), m, work)
		failed <- err
	})
	select {
	case p := <-made:
		return reply{http.StatusAccepted, p.view()}, nil
	case err := <-failed:
		return nil, err
	}
}

// detached is a call that goes on when its client does not.
func (c *call) detached() *call {
	d := *c
	d.ctx = c.tasks.Context()
	return &d
}

// newPoint writes down that a checkpoint is being made.
func (m *machine) newPoint() (*checkpoint, error) {
	rec, v := m.snapshot()
	if v == nil || rec.State != stateStarted {
		return nil, conflict("machine is not ready for capture: it is not running")
	}
	p := &checkpoint{
		ID: "ckpt-" + randhex.String(16), Account: m.account, MachineID: m.id, Status: pointCreating, Arch: m.s.o.Arch, CreatedAt: m.s.now(),
		Shape: rec.shape(m.s.o.Arch),
	}
	return p, m.s.savePoint(p)
}

// fill copies the disks, during which the machine stands still.
func (m *machine) fill(p *checkpoint) (*checkpoint, error) {
	s := m.s
	rec, v := m.snapshot()
	if v == nil {
		return nil, errors.New("the machine went away")
	}
	next := *p
	err := v.inst.Freeze()
	if err == nil {
		err = s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), s.disksOf(p.ID), s.store.Guest(m.id))
	}
	if err == nil && rec.Cache != nil {
		err = disks.Copy(s.cacheOf(p.ID), s.ownCache(m.id))
	}
	if !rec.Frozen {
		err = errors.Join(err, v.inst.Thaw())
	}
	if err == nil {
		next.SizeBytes, err = s.size(p)
	}
	if next.Status = pointAvailable; err != nil {
		next.Status = pointFailed
	}
	return &next, errors.Join(err, s.savePoint(&next), m.update(func(r *record) { r.note(s, "info", "checkpoint %s: %s", p.ID, next.Status) }))
}

// counter counts bytes.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// size is how many bytes a download has.
func (s *Server) size(p *checkpoint) (int64, error) {
	var n counter
	err := disks.Write(&n, p.Shape, s.disksOf(p.ID))
	return int64(n), err
}
