package cloud

import (
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/disks"
)

func (c *call) getPoint() (any, error) {
	p, err := c.point()
	if err != nil {
		return nil, err
	}
	return p.view(), nil
}

// listPoints answers with the checkpoints of a machine, the newest first.
func (c *call) listPoints() (any, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	list := []*pointView{}
	for _, p := range c.pointsOf(m.id) {
		list = append(list, p.view())
	}
	return list, nil
}

// pointsOf returns the checkpoints of a machine, the newest first.
func (s *Server) pointsOf(id string) []*checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*checkpoint
	for _, p := range s.points {
		if p.MachineID == id {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *checkpoint) int {
		return firstOf(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return list
}

// firstOf is the first comparison that tells a difference.
func firstOf(order ...int) int {
	for _, o := range order {
		if o != 0 {
			return o
		}
	}
	return 0
}

func (c *call) downloadPoint() (any, error) {
	p, err := c.point()
	if err != nil {
		return nil, err
	}
	if p.Status != pointAvailable {
		return nil, conflict("checkpoint is not available: it is %s", p.Status)
	}
	r, w := io.Pipe()
	c.tasks.Go(func() { w.CloseWithError(disks.Write(w, p.Shape, c.disksOf(p.ID))) })
	defer r.Close()
	c.send(r, p.SizeBytes)
	return nil, nil
}

// deletePoint refuses as long as a machine restored from it is there.
func (c *call) deletePoint() (any, error) {
	p, err := c.point()
	if err != nil {
		return nil, err
	}
	for _, m := range c.all() {
		if rec, _ := m.snapshot(); rec.Checkpoint == p.ID {
			return nil, conflict("checkpoint is in use: machine %s was restored from it", rec.ID)
		}
	}
	c.mu.Lock()
	delete(c.points, p.ID)
	c.mu.Unlock()
	return reply{http.StatusNoContent, nil}, c.discardPoint(p.ID)
}

func (s *Server) discardPoint(id string) error {
	if _, err := os.Stat(s.disksOf(id)); err == nil {
		if err := s.o.Guest.Remove(s.disksOf(id)); err != nil {
			return err
		}
	}
	return s.o.Guest.Remove(s.pointDir(id))
}
