package cloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
)

// cacheDisk is a disk of which machines start with a copy. Its versions are in directories beside its record.
type cacheDisk struct {
	ID            string         `json:"id"`
	Account       string         `json:"account,omitempty"`
	Name          string         `json:"name"`
	SizeGB        uint64         `json:"sizeGb"`
	MountPath     string         `json:"mountPath"`
	LatestVersion uint64         `json:"latestVersion"`
	Versions      []cacheVersion `json:"versions"`
	CreatedAt     time.Time      `json:"createdAt"`
}

type cacheVersion struct {
	Version         uint64    `json:"version"`
	SizeBytes       int64     `json:"sizeBytes"`
	SHA256          string    `json:"sha256"`
	CreatedAt       time.Time `json:"createdAt"`
	SourceMachineID *string   `json:"sourceMachineId,omitempty"`
}

// view is what a client is told.
func (d *cacheDisk) view() cacheDisk {
	v := *d
	v.Account = ""
	return v
}

// cacheUse is the cache disk of a machine.
type cacheUse struct {
	ID      string `json:"id"`
	Version uint64 `json:"version"`
	Path    string `json:"path"`
	SizeGB  uint64 `json:"sizeGb"`
	// Slot: it is attached and not mounted, so that another one can take its place at a restore.
	Slot bool `json:"slot,omitempty"`
}

// The sizes that a cache disk can have, in GB.
const (
	minCacheGB     = 1
	maxCacheGB     = 500
	defaultCacheGB = 20
)

var cacheForm = regexp.MustCompile(`^[a-z0-9._-]+$`)

func (s *Server) cacheDir(id string) string { return filepath.Join(s.o.DataDir, "caches", id) }

func (s *Server) versionDir(id string, version uint64) string {
	return filepath.Join(s.cacheDir(id), fmt.Sprintf("v%d", version))
}

// loadCaches reads the cache disks of an earlier server.
func (s *Server) loadCaches() error {
	files, err := filepath.Glob(filepath.Join(s.o.DataDir, "caches", "*", "cache.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		d := &cacheDisk{}
		if err := json.Unmarshal(b, d); err != nil {
			return fmt.Errorf("cache disk %s: %w", file, err)
		}
		s.caches = append(s.caches, d)
	}
	slices.SortFunc(s.caches, func(a, b *cacheDisk) int {
		return firstOf(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return nil
}

func (s *Server) saveCache(d *cacheDisk) error {
	file := filepath.Join(s.cacheDir(d.ID), "cache.json")
	if err := os.WriteFile(file+".new", marshal(d), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// proOnly refuses accounts whose plan has no cache disks.
func (c *call) proOnly() error {
	if c.o.Plan.CacheDisks {
		return nil
	}
	return fail(http.StatusPaymentRequired, "cache disks need the Pro plan or above; see %s", pricing)
}

// findCache finds a cache disk of the account by its id or its name. c.mu is held.
func (c *call) findCache(ref string) (*cacheDisk, error) {
	for _, d := range c.caches {
		if d.Account == c.who.account && (d.ID == ref || d.Name == ref) {
			return d, nil
		}
	}
	return nil, fail(http.StatusNotFound, "cache disk not found")
}

type cacheDiskRequest struct {
	Name      string  `serde:"name"`
	SizeGB    *uint64 `serde:"sizeGb"`
	MountPath *string `serde:"mountPath"`
}

func (c *call) createCache() (any, error) {
	if err := c.proOnly(); err != nil {
		return nil, err
	}
	var req cacheDiskRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	d := &cacheDisk{
		ID: "cdisk-" + randhex.String(16), Account: c.who.account, Name: req.Name, SizeGB: valueOr(req.SizeGB, defaultCacheGB),
		MountPath: valueOr(req.MountPath, "/cache"), CreatedAt: c.now(),
	}
	switch {
	case !cacheForm.MatchString(d.Name):
		return nil, badRequest("invalid cache disk name %q: use a-z, 0-9, ., _ and -", d.Name)
	case d.SizeGB < minCacheGB || d.SizeGB > maxCacheGB:
		return nil, unprocessable("sizeGb must be between %d and %d", minCacheGB, maxCacheGB)
	case !mountable(d.MountPath):
		return nil, badRequest("mountPath must be absolute and not the root: %q", d.MountPath)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.findCache(d.Name); err == nil {
		return nil, conflict("cache disk name '%s' is already in use", d.Name)
	}
	if err := os.MkdirAll(c.versionDir(d.ID, 0), 0o777); err != nil {
		return nil, err
	}
	if err := c.addVersion(d, 0, nil); err != nil {
		return nil, err
	}
	c.caches = append(c.caches, d)
	return reply{http.StatusCreated, d.view()}, nil
}

// mountable reports whether a disk can be shown at a path.
func mountable(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && p != "/" && !strings.Contains(p, "\x00")
}

// addVersion notes the newest version, whose directory is there, and writes the record.
func (s *Server) addVersion(d *cacheDisk, n uint64, source *string) error {
	sum, size, err := digest(s.versionDir(d.ID, n))
	if err != nil {
		return err
	}
	v := cacheVersion{n, size, sum, s.now(), source}
	d.Versions, d.LatestVersion = append([]cacheVersion{v}, d.Versions...), n
	return s.saveCache(d)
}

func (c *call) listCaches() (any, error) {
	if err := c.proOnly(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []cacheDisk{}
	for _, d := range c.caches {
		if d.Account == c.who.account {
			list = append(list, d.view())
		}
	}
	return map[string]any{"cacheDisks": list}, nil
}

func (c *call) getCache() (any, error) {
	if err := c.proOnly(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d, err := c.findCache(c.params["id"])
	if err != nil {
		return nil, err
	}
	return d.view(), nil
}

func (c *call) deleteCache() (any, error) {
	if err := c.proOnly(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d, err := c.findCache(c.params["id"])
	if err != nil {
		return nil, err
	}
	for _, m := range c.order {
		if rec, v := m.snapshot(); v != nil && rec.Cache != nil && rec.Cache.ID == d.ID {
			return nil, conflict("cache disk is in use by machine %s", rec.ID)
		}
	}
	c.caches = slices.DeleteFunc(c.caches, func(other *cacheDisk) bool { return other == d })
	return reply{http.StatusNoContent, nil}, c.o.Guest.Remove(c.cacheDir(d.ID))
}
