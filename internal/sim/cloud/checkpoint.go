package cloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
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
