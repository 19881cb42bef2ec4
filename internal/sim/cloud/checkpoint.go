package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/disks"
	"github.com/smol-machines/smol-go/internal/sim/environ"
)

// The states of a checkpoint.
const (
	pointCreating  = "creating"
	pointAvailable = "available"
	pointFailed    = "failed"
	pointUploading = "uploading"
)

// checkpoint is a copy of a machine's disks. Its directory holds its record, its disks, and the parts of an upload.
type checkpoint struct {
	ID        string    `json:"id"`
	Account   string    `json:"account"`
	MachineID string    `json:"machineId"`
	Status    string    `json:"status"`
	SizeBytes int64     `json:"sizeBytes"`
	Arch      string    `json:"arch"`
	CreatedAt time.Time `json:"createdAt"`
	Shape     shape     `json:"shape"`
	Upload    *incoming `json:"upload,omitempty"`
}

// shape is what a machine is restored with. The first names are those that the stand-in of the local service uses in its checkpoints.
type shape struct {
	Image     string   `json:"image"`
	CPUs      uint32   `json:"cpus"`
	MemoryMB  uint32   `json:"memoryMb"`
	StorageGB uint64   `json:"storageGb"`
	OverlayGB uint64   `json:"overlayGb"`
	Argv      []string `json:"argv,omitempty"`
	Env       []string `json:"env,omitempty"`
	Workdir   string   `json:"workdir,omitempty"`
	Arch      string   `json:"arch,omitempty"`
	// Source, Disk and Ports are of machines of the cloud.
	Source *source `json:"source,omitempty"`
	Disk   *uint64 `json:"diskGb,omitempty"`
	Ports  []port  `json:"publish,omitempty"`
	// Base and Cache are the record's.
	Base  *string   `json:"base,omitempty"`
	Cache *cacheUse `json:"cache,omitempty"`
}

func (r *record) shape(arch string) shape {
	s := shape{
		Image: r.image(), CPUs: r.Resources.CPUs, MemoryMB: r.Resources.MemoryMB, StorageGB: valueOr(r.Resources.DiskGB, imageDisk),
		OverlayGB: imageDisk, Argv: r.Command, Env: environList(r.Env), Workdir: valueOr(r.Workdir, ""), Arch: arch,
		Source: &r.Source, Disk: r.Resources.DiskGB, Base: r.Base, Cache: r.Cache,
	}
	for _, p := range r.Ports {
		s.Ports = append(s.Ports, port{Port: p.Port})
	}
	return s
}

// record is a new machine of the shape.
func (s *shape) record() *record {
	rec := &record{
		State: stateStopped, Source: source{Type: "image", Reference: s.Image}, Resources: resources{CPUs: s.CPUs, MemoryMB: s.MemoryMB, DiskGB: s.Disk},
		Command: s.Argv, Env: map[string]string{}, Labels: map[string]string{}, Ports: append([]port{}, s.Ports...), Workdir: optional(s.Workdir),
		Branchable: true,
	}
	if s.Source != nil {
		rec.Source, rec.Base, rec.Cache = *s.Source, s.Base, s.Cache
	}
	for _, e := range environ.Overlay(nil, s.Env) {
		name, value, _ := strings.Cut(e, "=")
		rec.Env[name] = value
	}
	return rec
}

// pointView is what a client is told about a checkpoint.
type pointView struct {
	ID            string    `json:"id"`
	MachineID     string    `json:"machineId"`
	Status        string    `json:"status"`
	SizeBytes     int64     `json:"sizeBytes"`
	Arch          string    `json:"arch"`
	CreatedAt     time.Time `json:"createdAt"`
	DownloadURL   *string   `json:"downloadUrl,omitempty"`
	EngineVersion *string   `json:"engineVersion,omitempty"`
}

// engine is the release that the checkpoints are of.
const engine = "1.14.5"

func (p *checkpoint) view() *pointView {
	v := &pointView{ID: p.ID, MachineID: p.MachineID, Status: p.Status, SizeBytes: p.SizeBytes, Arch: p.Arch, CreatedAt: p.CreatedAt}
	if p.Status != pointUploading {
		v.DownloadURL, v.EngineVersion = optional("/v1/checkpoints/"+p.ID+"/download"), optional(engine)
	}
	return v
}

func (s *Server) pointDir(id string) string { return filepath.Join(s.o.DataDir, "checkpoints", id) }

// disksOf is the directory with the disks of a checkpoint.
func (s *Server) disksOf(id string) string { return filepath.Join(s.pointDir(id), "guest") }

// cacheOf is the directory with its cache disk.
func (s *Server) cacheOf(id string) string { return filepath.Join(s.pointDir(id), "cache") }

// savePoint writes down a checkpoint and makes it known. s.mu is not held.
func (s *Server) savePoint(p *checkpoint) error {
	if err := os.MkdirAll(s.pointDir(p.ID), 0o700); err != nil {
		return err
	}
	file := filepath.Join(s.pointDir(p.ID), "checkpoint.json")
	if err := os.WriteFile(file+".new", marshal(p), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points[p.ID] = p
	return nil
}

// loadPoints takes up the checkpoints of an earlier server; those that were not complete never will be.
func (s *Server) loadPoints() error {
	files, err := filepath.Glob(filepath.Join(s.o.DataDir, "checkpoints", "*", "checkpoint.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p := &checkpoint{}
		if err := json.Unmarshal(b, p); err != nil {
			return fmt.Errorf("checkpoint %s: %w", file, err)
		}
		if p.Status == pointCreating || p.Status == pointUploading {
			p.Status, p.Upload = pointFailed, nil
		}
		if err := s.savePoint(p); err != nil {
			return err
		}
	}
	return nil
}

// point returns the checkpoint that the path names. It is not changed afterwards: a change is another one in its place.
func (c *call) point() (*checkpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.points[c.params["id"]]; p != nil && p.Account == c.who.account {
		return p, nil
	}
	return nil, fail(http.StatusNotFound, "checkpoint not found")
}

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
		ID: "ckpt-" + randomHex(16), Account: m.account, MachineID: m.id, Status: pointCreating, Arch: m.s.o.Arch, CreatedAt: m.s.now(),
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
	return os.RemoveAll(s.pointDir(id))
}
