package cloud

import (
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/environ"
)

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
