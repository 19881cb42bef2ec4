package cloud

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/smol-machines/smol-go/internal/sim"
)

// guestPath is the file that the path names: absolute, and without its first slash as it is told.
func (c *call) guestPath() (absolute, told string, err error) {
	told = strings.TrimLeft(c.params["path"], "/")
	switch {
	case told == "":
		return "", "", &bare{http.StatusNotFound}
	case strings.Contains(told, "\x00") || slices.Contains(strings.Split(told, "/"), ".."):
		return "", "", badRequest("invalid path: %q", told)
	}
	return "/" + told, told, nil
}

// bodyReader keeps what went wrong with a body apart from what went wrong with the file.
type bodyReader struct {
	r   io.Reader
	err error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// upload replaces a file by the body, which is never whole in memory. A body that ends too early replaces nothing.
func (c *call) upload() (any, error) {
	if c.o.FilesStatus != 0 {
		return nil, &bare{c.o.FilesStatus}
	}
	p, told, err := c.guestPath()
	if err != nil {
		return nil, err
	}
	m, v, end, err := c.ready()
	if err != nil {
		return nil, err
	}
	defer end()
	if c.strays(m.id, p) {
		return nil, badRequest("cannot write %s: it leads to a path in memory", told)
	}
	body := &bodyReader{r: c.r.Body}
	_, err = v.inst.WriteFile(p, body)
	switch {
	case body.err != nil:
		return nil, badRequest("Failed to read the request body: %v", body.err)
	case errors.Is(err, syscall.EISDIR):
		return nil, badRequest("is a directory: %s", told)
	case errors.Is(err, sim.ErrNotRunning):
		return nil, fail(http.StatusBadGateway, "the machine went away while the file was written")
	case err != nil:
		return nil, badRequest("cannot write %s: %v", told, err)
	}
	return reply{http.StatusNoContent, nil}, nil
}

func (c *call) download() (any, error) {
	if c.o.FilesStatus != 0 {
		return nil, &bare{c.o.FilesStatus}
	}
	p, told, err := c.guestPath()
	if err != nil {
		return nil, err
	}
	_, v, end, err := c.ready()
	if err != nil {
		return nil, err
	}
	defer end()
	r, fi, err := v.inst.ReadFile(p)
	switch {
	case errors.Is(err, sim.ErrNotRegular):
		return nil, badRequest("not a regular file: %s", told)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(http.StatusNotFound, "file not found: %s", told)
	case errors.Is(err, sim.ErrNotRunning):
		return nil, fail(http.StatusBadGateway, "the machine went away while the file was read")
	case err != nil:
		return nil, badRequest("cannot read %s: %v", told, err)
	}
	defer r.Close()
	c.send(r, fi.Size())
	return nil, nil
}

// send answers with size bytes of r. If there are fewer the connection is cut.
func (c *call) send(r io.Reader, size int64) {
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", fmt.Sprint(size))
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return
	}
	if n, err := io.CopyN(c.w, r, size); err != nil || n != size {
		panic(http.ErrAbortHandler) // too late for an answer
	}
}
