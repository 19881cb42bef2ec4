package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/disks"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
)

// artifact is an exported machine, which others can be made of.
type artifact struct {
	Reference string   `json:"reference"`
	Digest    string   `json:"digest"`
	SizeBytes int64    `json:"sizeBytes"`
	Platforms []string `json:"platforms"`
	// Image is what it was made of in the beginning.
	Image string `json:"image,omitempty"`
}

var tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// registry is the host of references that may stand before them.
const registry = "registry.smolmachines.com/"

func (s *Server) artifactDir(reference string) string {
	return filepath.Join(s.o.DataDir, "artifacts", shelf.Hash(strings.TrimPrefix(reference, registry)))
}

// artifact returns the exported machine that a reference names, or nil.
func (s *Server) artifact(reference string) *artifact {
	b, err := os.ReadFile(filepath.Join(s.artifactDir(reference), "artifact.json"))
	if err != nil {
		return nil
	}
	a := &artifact{}
	if json.Unmarshal(b, a) != nil || a.Reference != strings.TrimPrefix(reference, registry) {
		return nil
	}
	return a
}

type exportRequest struct {
	Tag *string `serde:"tag"`
}

// export keeps a copy of the disks of a stopped machine under a reference.
func (c *call) export() (any, error) {
	var req exportRequest
	if err := c.decodeMaybe(&req); err != nil {
		return nil, err
	}
	tag := valueOr(req.Tag, "latest")
	if !tagForm.MatchString(tag) {
		return nil, badRequest("invalid tag %q", tag)
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (any, error) {
		rec, v := m.snapshot()
		if v != nil || rec.State != stateStopped {
			return nil, conflict("machine must be stopped to be exported")
		}
		a := &artifact{
			Reference: "tenants/" + rec.Account + "/" + rec.Name + ":" + tag, Platforms: []string{"linux/" + c.o.Arch}, Image: rec.image(),
		}
		if err := c.keepArtifact(a, c.store.Guest(m.id)); err != nil {
			return nil, err
		}
		a.Image = ""
		return a, nil
	})
}

// keepArtifact copies the state directory, which does not exist if the machine was never started.
func (s *Server) keepArtifact(a *artifact, state string) error {
	dir := s.artifactDir(a.Reference)
	guest := filepath.Join(dir, "guest")
	if exists(guest) {
		if err := s.o.Guest.Remove(guest); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if exists(state) {
		if err := s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), guest, state); err != nil {
			return err
		}
	}
	var err error
	if a.Digest, a.SizeBytes, err = digest(guest); err != nil {
		return err
	}
	a.Digest = "sha256:" + a.Digest
	return os.WriteFile(filepath.Join(dir, "artifact.json"), marshal(a), 0o600)
}

// digest is the hash and the size of what is in dir, if that exists, as a tar.
func digest(dir string) (sum string, size int64, err error) {
	h := sha256.New()
	var n counter
	if exists(dir) {
		err = disks.Pack(io.MultiWriter(h, &n), dir)
	}
	return hex.EncodeToString(h.Sum(nil)), int64(n), err
}

// image is what the machine is booted from.
func (r *record) image() string {
	if r.Base != nil {
		return *r.Base
	}
	return r.Source.Reference
}

// furnish gives a machine that is started for the first time the disks of the artifact that it is made of.
func (s *Server) furnish(rec *record) error {
	state := s.store.Guest(rec.ID)
	from := filepath.Join(s.artifactDir(rec.Source.Reference), "guest")
	if rec.Base == nil || exists(state) || !exists(from) {
		return nil
	}
	return s.o.Guest.Copy(context.WithoutCancel(s.tasks.Context()), state, from)
}

// rebase notes what a machine made of an artifact is booted from.
func (s *Server) rebase(rec *record) error {
	if rec.Source.Type != "smolmachine" {
		return nil
	}
	a := s.artifact(rec.Source.Reference)
	if a == nil {
		return nil
	}
	if !strings.HasPrefix(a.Reference, "tenants/"+rec.Account+"/") {
		return errors.New("this artifact belongs to somebody else")
	}
	rec.Base = &a.Image
	return nil
}
