package local

import (
	"crypto/sha256"
	"fmt"
	"runtime"

	"github.com/smol-machines/smol-go/internal/sim/task"
)

type imageInfo struct {
	Reference    string `json:"reference"`
	Digest       string `json:"digest"`
	Size         uint64 `json:"size"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Layers       int    `json:"layerCount"`
}

// imageOf describes an image that has been pulled. There is nothing to it here but its name.
func imageOf(reference string) imageInfo {
	return imageInfo{
		Reference: reference, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(reference))), Size: 8 << 20,
		Architecture: runtime.GOARCH, OS: "linux", Layers: 1,
	}
}

func (c *call) images() (any, error) {
	m, err := c.registered(c.params["name"])
	if err != nil {
		return nil, err
	}
	list := []imageInfo{}
	if rec, v := m.snapshot(); v != nil {
		for _, ref := range rec.Images {
			list = append(list, imageOf(ref))
		}
	}
	return struct {
		Images []imageInfo `json:"images"`
	}{list}, nil
}

type pullImageRequest struct {
	Image    string  `serde:"image"`
	Platform *string `serde:"ociPlatform"`
	Proxy    *string `serde:"proxy"`
	NoProxy  *string `serde:"noProxy"`
}

func (c *call) pull() (any, error) {
	var req pullImageRequest
	if err := c.decode(&req, nil); err != nil {
		return nil, err
	}
	if req.Image == "" {
		return nil, badRequest("image reference cannot be empty")
	}
	m, v, err := c.ready()
	if err != nil {
		return nil, err
	}
	return task.Step(c.ctx, c.tasks, func() (any, error) {
		defer v.disconnect()
		if err := c.o.Pull(c.tasks.Context(), req.Image); err != nil {
			return nil, internal("%v", &pullError{err})
		}
		ref := normalise(req.Image)
		if err := m.update(func(r *record) { r.Images = appendNew(r.Images, ref) }); err != nil {
			return nil, err
		}
		return struct {
			Image imageInfo `json:"image"`
		}{imageOf(ref)}, nil
	}, nil)
}
