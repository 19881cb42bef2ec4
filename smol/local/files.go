package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// fileRequest is a request about a file of a machine.
func fileRequest(op, method, id, path string) (*rest.Request, error) {
	r, err := request(op, method, id, "/files/")
	if err != nil {
		return nil, err
	}
	tail, err := rest.GuestPath(path)
	if err != nil {
		return nil, describe(err, op, id)
	}
	r.Path += tail
	r.File = path
	return r, nil
}

// Upload implements [smol.FileBackend]. The file becomes root's with mode 0644, whatever was there before. Above 1 MiB it can get
// lost in a machine made from an image unless it goes below /workspace, and so can any that is sent before the first command has run: see
// [smol.Traits]. It is an error if r has another length than size.
func (b *Backend) Upload(ctx context.Context, id, path string, r io.Reader, size int64) error {
	const op = "write file"
	req, err := fileRequest(op, http.MethodPut, id, path)
	if err != nil {
		return err
	}
	if size > maxUpload {
		return &smol.Error{Op: op, Machine: id, Path: path, Code: smol.CodeInvalid, Message: tooLarge(size)}
	}
	body := &upload{r: r, size: size}
	defer body.stop()
	req.Body, req.Size, req.ContentType = body, size, "application/octet-stream"
	if size == 0 {
		// net/http does not look at a body of no length, so nobody would notice that there is more.
		if _, err := body.Read(make([]byte, 1)); err != io.EOF {
			return b.fileError(ctx, id, path, err, body)
		}
	}
	var done localwire.Uploaded
	if err := b.send(ctx, req, nil, &done); err != nil {
		return b.fileError(ctx, id, path, err, body)
	}
	if n := body.count(); done.Size != n {
		return &smol.Error{
			Op: op, Machine: id, Path: path, Code: smol.CodeUnknown,
			Message: fmt.Sprintf("%d bytes were sent and the service wrote %d", n, done.Size),
		}
	}
	return nil
}

// Download implements [smol.FileBackend]. The service reads the whole file into its memory first, and refuses one above 4 GiB.
func (b *Backend) Download(ctx context.Context, id, path string) (io.ReadCloser, int64, error) {
	r, err := fileRequest("read file", http.MethodGet, id, path)
	if err != nil {
		return nil, 0, err
	}
	r.Accept = ""
	resp, err := b.rest.Do(ctx, r)
	if err != nil {
		return nil, 0, b.fileError(ctx, id, path, explain(err), nil)
	}
	return &download{ctx: ctx, req: r, body: resp.Body}, resp.ContentLength, nil
}

// fileError finds out what err means for a file. The service answers 500 to every failure inside the machine, so the text decides.
func (b *Backend) fileError(ctx context.Context, id, path string, err error, body *upload) error {
	if body != nil && body.failure() != nil && ctx.Err() == nil {
		return sourceError(id, path, body.failure())
	}
	e, ok := answer(err, http.StatusInternalServerError)
	if !ok {
		return b.unregistered(ctx, id, err)
	}
	said := strings.ToLower(strings.ReplaceAll(e.Message, path, "")) // a path can contain anything
	if !strings.HasPrefix(said, "agent operation failed: ") && !strings.HasPrefix(said, "not a regular file") {
		return err // that of an implicit start
	}
	for phrase, code := range fileFailures {
		if strings.Contains(said, phrase) {
			e.Code = code
		}
	}
	return err
}

// fileFailures are the guest's words for what is wrong with a file, in lower case: parts of it are written in Go, and spell them so.
var fileFailures = map[string]smol.Code{
	"no such file or directory": smol.CodeNotFound,
	"permission denied":         smol.CodePermissionDenied,
	"read-only file system":     smol.CodePermissionDenied,
	"not a regular file":        smol.CodeInvalid,
	"is a directory":            smol.CodeInvalid,
	"not a directory":           smol.CodeInvalid,
}

// sourceError says that what was to be uploaded could not be read, or is not what was announced.
func sourceError(id, path string, err error) error {
	e := &smol.Error{Code: smol.CodeUnknown, Message: "reading what is to be written: " + err.Error(), Err: err}
	var own *uploadError
	if errors.As(err, &own) {
		e.Code, e.Message, e.Err = smol.CodeInvalid, own.message, own.cause
	}
	e.Op, e.Machine, e.Path = "write file", id, path
	return e
}

func tooLarge(size int64) string {
	return fmt.Sprintf("file of %d bytes is too large for one upload, which carries %d", size, int64(maxUpload))
}

// download is the body of a download whose errors are those of the library.
type download struct {
	ctx  context.Context // that of the call, which bounds the body too
	req  *rest.Request
	body io.ReadCloser
}

// Read reads the file; what breaks off is an error and never an end.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && err != io.EOF {
		err = d.req.Broken(d.ctx, err)
	}
	return n, err
}

// Close ends the download.
func (d *download) Close() error { return d.body.Close() }
