package cloud

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/smol-machines/smol-go/internal/sim/disks"
)

// useCache is what a machine is given that asks for a cache disk.
func (c *call) useCache(ref *cacheDiskRef) (*cacheUse, error) {
	if ref == nil {
		return nil, nil
	}
	if err := c.proOnly(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d, err := c.findCache(ref.Cache)
	if err != nil {
		return nil, err
	}
	use := &cacheUse{ID: d.ID, Version: valueOr(ref.Version, d.LatestVersion), Path: valueOr(ref.MountPath, d.MountPath), SizeGB: d.SizeGB, Slot: ref.Slot}
	switch {
	case use.Version > d.LatestVersion:
		return nil, fail(http.StatusNotFound, "cache disk %s has no version %d", d.Name, use.Version)
	case !mountable(use.Path):
		return nil, badRequest("mountPath must be absolute and not the root: %q", use.Path)
	}
	return use, nil
}

// ownCache is the machine's own copy of its cache disk.
func (s *Server) ownCache(id string) string { return filepath.Join(s.store.VM(id), "cache") }

// fillCache copies the version that a machine starts with, the first time. The directory may be written by whoever is root in the machine.
func (s *Server) fillCache(rec *record) error {
	own := s.ownCache(rec.ID)
	if rec.Cache == nil || exists(own) {
		return nil
	}
	if err := disks.Copy(own, s.versionDir(rec.Cache.ID, rec.Cache.Version)); err != nil {
		return errors.Join(fmt.Errorf("copy the cache disk: %w", err), s.o.Guest.Remove(own))
	}
	return os.Chmod(own, 0o777)
}

// publish makes what a stopped machine has on its cache disk the next version.
func (c *call) publish() (any, error) {
	if err := c.proOnly(); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		rec, v := m.snapshot()
		switch {
		case v != nil || rec.State != stateStopped:
			return nil, conflict("machine must be stopped to publish its cache disk")
		case rec.Cache == nil:
			return nil, conflict("machine has no cache disk")
		}
		if err := errors.Join(c.store.Prepare(m.id), c.fillCache(&rec)); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		d, err := c.findCache(rec.Cache.ID)
		if err != nil {
			return nil, err
		}
		n := d.LatestVersion + 1
		if err := disks.Copy(c.versionDir(d.ID, n), c.ownCache(m.id)); err != nil {
			return nil, err
		}
		if err := c.addVersion(d, n, &rec.ID); err != nil {
			return nil, err
		}
		return map[string]any{"cacheDisk": d.view(), "version": d.Versions[0]}, nil
	})
}
