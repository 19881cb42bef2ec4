package local

import (
	"context"
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
		return nil, rest.Describe(err, op, id)
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
	body := rest.NewUpload(r, size, maxUpload)
	defer body.Stop()
	if err := body.TooLarge(); err != nil {
		return describeFile(err, op, id, path)
	}
	req.Body, req.Size, req.ContentType = body, size, "application/octet-stream"
	if size == 0 {
		if err := body.Empty(); err != nil {
			return describeFile(err, op, id, path)
		}
	}
	var done localwire.Uploaded
	if err := b.send(ctx, req, nil, &done); err != nil {
		return b.fileError(ctx, id, path, err, body)
	}
	if n := body.Count(); done.Size != n {
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
	return r.Download(ctx, resp), resp.ContentLength, nil
}

// fileError finds out what err means for a file. The service answers 500 to every failure inside the machine, so the text decides.
func (b *Backend) fileError(ctx context.Context, id, path string, err error, body *rest.Upload) error {
	if body != nil && body.Failure() != nil && ctx.Err() == nil {
		return describeFile(body.Failure(), "write file", id, path)
	}
	e, ok := rest.Answer(err, http.StatusInternalServerError)
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

// describeFile gives an error of a body the operation that it stopped.
func describeFile(err error, op, id, path string) error {
	err = rest.Describe(err, op, id)
	if e, ok := err.(*smol.Error); ok {
		e.Path = path
	}
	return err
}
