package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// The sizes at which files are treated otherwise: above messageSize an upload goes in pieces, up to bufferSize a download is read whole.
const (
	messageSize = 1 << 20
	bufferSize  = 1 << 20
)

// guestPath is the file that a files route names. A bare machine refuses to go up; a container's kernel resolves that.
func (c *call) guestPath(image bool, op string) (string, error) {
	p := "/" + strings.TrimLeft(c.params["path"], "/")
	switch {
	case strings.ContainsRune(p, 0):
		return "", internal("agent operation failed: %s: file name contained an unexpected NUL byte", op)
	case !slices.Contains(strings.Split(p, "/"), ".."):
		return p, nil
	case image:
		return path.Clean(p), nil
	}
	return "", internal("agent operation failed: %s: invalid guest path %s: parent traversal is not allowed", op, p)
}

func (c *call) upload() (any, error) {
	body, err := c.body(uploadLimit)
	if err != nil {
		return nil, err
	}
	m, v, err := c.ready()
	if err != nil {
		return nil, err
	}
	return task.Step(c.ctx, c.tasks, func() (any, error) {
		defer v.disconnect()
		return c.write(m, v, body)
	}, nil)
}

func (c *call) write(m *machine, v *vm, body []byte) (any, error) {
	rec, _ := m.snapshot()
	image := rec.Image != ""
	op := "write file"
	if len(body) > messageSize {
		op = "finalize streaming write"
	}
	p, err := c.guestPath(image, op)
	if err != nil {
		return nil, err
	}
	if !image || !c.lost(v, p, len(body)) {
		if _, err := v.inst.WriteFile(p, bytes.NewReader(body)); err != nil {
			return nil, internal("agent operation failed: %s: failed to write %s: %s", op, p, osText(err))
		}
	}
	return struct {
		Path string `json:"path"`
		Size int    `json:"size"`
	}{p, len(body)}, nil
}

// lost reports whether an upload to an image machine lands where nobody finds it.
func (c *call) lost(v *vm, p string, size int) bool {
	if !c.o.KeepLargeUploads && size > messageSize && !strings.HasPrefix(p, "/workspace/") {
		return true
	}
	if !c.o.UploadRace || v.isProven() {
		return false
	}
	for _, masked := range []string{"/tmp/", "/run/", "/dev/shm/"} {
		if strings.HasPrefix(p, masked) {
			return true
		}
	}
	return false
}

func (v *vm) isProven() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.proven
}

// osText is an error as the guest's own system words it.
func osText(err error) string {
	if errors.Is(err, sim.ErrNotRegular) {
		return "Is a directory (os error 21)"
	}
	if text := errnoText(err); text != "" {
		return text
	}
	return err.Error()
}

func (c *call) download() (any, error) {
	m, v, err := c.ready()
	if err != nil {
		return nil, err
	}
	type opened struct {
		r    io.ReadCloser
		size int64
	}
	f, err := task.Step(c.ctx, c.tasks, func() (opened, error) {
		r, fi, err := c.open(m, v)
		if err != nil {
			v.disconnect()
			return opened{}, err
		}
		return opened{r, fi.Size()}, nil
	}, func(f opened, err error) {
		if err == nil {
			f.r.Close()
			v.disconnect()
		}
	})
	if err != nil {
		return nil, err
	}
	return nil, c.send(v, f.r, f.size)
}

// send sends an open file. A small one is read first, so that the connection to the machine is free while the client reads.
func (c *call) send(v *vm, r io.ReadCloser, size int64) error {
	defer r.Close()
	if size <= bufferSize {
		b, err := io.ReadAll(io.LimitReader(r, size))
		v.disconnect()
		if err != nil {
			return internal("agent operation failed: read file: %v", err)
		}
		c.bytes(http.StatusOK, "application/octet-stream", b)
		return nil
	}
	defer v.disconnect()
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", fmt.Sprint(size))
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if n, err := io.CopyN(c.w, r, size); err != nil || n != size {
		panic(http.ErrAbortHandler) // too late for an answer
	}
	return nil
}

func (c *call) open(m *machine, v *vm) (io.ReadCloser, fs.FileInfo, error) {
	rec, _ := m.snapshot()
	image := rec.Image != ""
	p, err := c.guestPath(image, "read file")
	if err != nil {
		return nil, nil, err
	}
	r, fi, err := v.inst.ReadFile(p)
	const prefix = "agent operation failed: read file: "
	switch {
	case err == nil:
		return r, fi, nil
	case errors.Is(err, sim.ErrNotRegular):
		return nil, nil, internal(prefix+"not a regular file: %s", p)
	case errors.Is(err, fs.ErrNotExist) && image:
		return nil, nil, internal(prefix+"failed to read %s in the workload container: open %s: No such file or directory (os error 2)", p, p)
	}
	return nil, nil, internal(prefix+"failed to open %s: %s", p, osText(err))
}
