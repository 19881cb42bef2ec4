package cloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

// fileCall is the request of op about a file of a machine.
func fileCall(op opID, id, file string) (*call, error) {
	c, err := newCall(op, id)
	if err != nil {
		return nil, err
	}
	tail, err := rest.GuestPath(file)
	if err != nil {
		return nil, rest.Describe(err, c.Op, id)
	}
	c.Path = strings.Replace(c.Path, "{path}", tail, 1)
	c.File = file
	return c, nil
}

// Upload implements [smol.FileBackend]. The file becomes root's. It is an error if r has another length than size. Parents that are missing are made by a
// command, and r is read again for that: if it is no io.Seeker they must be there.
//
// A service that moves no files is an error matching errors.ErrUnsupported. Which services do shows at the first call; a file that was moved is
// proof.
func (b *Backend) Upload(ctx context.Context, id, file string, r io.Reader, size int64) error {
	seeker, start := seekerOf(r)
	err := b.put(ctx, id, file, r, size)
	if !parentMissing(err) || ctx.Err() != nil {
		return err
	}
	if seeker != nil {
		made := b.makeDir(ctx, id, path.Dir(file))
		if _, seekErr := seeker.Seek(start, io.SeekStart); made && seekErr == nil {
			return b.put(ctx, id, file, r, size)
		}
	}
	if e, ok := err.(*smol.Error); ok {
		e.Hint = "make the directory first, with Machine.MkdirAll"
	}
	return err
}

// seekerOf returns r as a seeker and where it stands, or nil.
func seekerOf(r io.Reader) (io.Seeker, int64) {
	s, ok := r.(io.Seeker)
	if !ok {
		return nil, 0
	}
	at, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0 // a pipe, for all that it is an os.File
	}
	return s, at
}

func (b *Backend) put(ctx context.Context, id, file string, r io.Reader, size int64) error {
	c, err := fileCall(opUpload, id, file)
	if err != nil {
		return err
	}
	body := rest.NewUpload(r, size, 0)
	defer body.Stop()
	c.Body, c.Size, c.ContentType, c.Accept = body, size, "application/octet-stream", ""
	if size == 0 {
		if err := body.Empty(); err != nil {
			return fileFailed(c, err)
		}
	}
	resp, err := b.open(ctx, c)
	switch failed := body.Failure(); {
	case failed != nil && ctx.Err() == nil:
		if resp != nil {
			_ = resp.Body.Close()
		}
		return fileFailed(c, failed)
	case err != nil:
		return b.fileError(ctx, c, err)
	}
	b.filesWork.Store(true)
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // read to its end the connection can be used again
	return resp.Body.Close()
}

// makeDir makes a directory and its parents, and reports whether that worked.
func (b *Backend) makeDir(ctx context.Context, id, dir string) bool {
	res, err := b.Exec(ctx, id, &smol.ExecRequest{Argv: []string{"mkdir", "-p", "--", dir}, Timeout: time.Minute})
	return err == nil && res.ExitCode == 0
}

// Download implements [smol.FileBackend].
func (b *Backend) Download(ctx context.Context, id, file string) (io.ReadCloser, int64, error) {
	c, err := fileCall(opDownload, id, file)
	if err != nil {
		return nil, 0, err
	}
	c.Accept = ""
	resp, err := b.open(ctx, c)
	if err != nil {
		return nil, 0, b.fileError(ctx, c, err)
	}
	b.filesWork.Store(true)
	return c.Download(ctx, resp), resp.ContentLength, nil
}

// fileFailed gives an error of a body the operation that it stopped.
func fileFailed(c *call, err error) error {
	err = rest.Describe(err, c.Op, c.Machine)
	if e, ok := err.(*smol.Error); ok {
		e.Path = c.File
	}
	return err
}

// fileError finds out what a refusal is about: the machine, the file, or a service that does not have the route.
func (b *Backend) fileError(ctx context.Context, c *call, err error) error {
	var e *smol.Error
	if !errors.As(err, &e) {
		return err
	}
	route := e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented
	switch {
	case !route:
		classify(e)
		return err
	case e.Status == http.StatusNotFound && saysMachine(e):
		e.Path = "" // it is the machine that was not found
		return err
	case e.Status == http.StatusNotFound && saysFile(e):
		b.filesWork.Store(true)
		return err
	case !b.filesWork.Load():
		e.Code = smol.CodeUnsupported
		e.Hint = "this service moves no files by itself; the library can do it with commands"
		return err
	case e.Status == http.StatusNotFound:
		// The service says no more than that something is not there.
		if _, look := b.byID(ctx, c); errors.Is(look, smol.ErrNotFound) {
			e.Path = ""
		}
	}
	return err
}

// saysFile reports whether e, a 404, is about the file.
func saysFile(e *smol.Error) bool {
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "file not found") || strings.Contains(text, "no such file")
}

// parentMissing reports whether err is that of an upload into a directory that does not exist.
func parentMissing(err error) bool {
	var e *smol.Error
	return errors.As(err, &e) && e.Op == operations[opUpload].name && e.Path != "" && e.Code == smol.CodeNotFound
}

// classify finds in the words of the machine what is wrong with a file.
func classify(e *smol.Error) {
	said := strings.ToLower(strings.ReplaceAll(e.Message, strings.TrimPrefix(e.Path, "/"), "")) // a path can contain anything
	for _, f := range fileFailures {
		if strings.Contains(said, f.phrase) {
			e.Code = f.code
			return
		}
	}
}

// fileFailures are the machine's words for what is wrong with a file, in lower case.
var fileFailures = []struct {
	phrase string
	code   smol.Code
}{
	{"no such file or directory", smol.CodeNotFound},
	{"not a directory", smol.CodeInvalid},
	{"is a directory", smol.CodeInvalid},
	{"not a regular file", smol.CodeInvalid},
	{"permission denied", smol.CodePermissionDenied},
	{"read-only file system", smol.CodePermissionDenied},
}
