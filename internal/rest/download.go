package rest

import (
	"context"
	"io"
	"net/http"
)

// Download returns the body of resp, the answer to r, as a file whose errors are those of the library: what breaks off is an error and
// never an end. ctx, which is that of the call, bounds the reading too.
func (r *Request) Download(ctx context.Context, resp *http.Response) io.ReadCloser {
	return &download{ctx: ctx, req: r, body: resp.Body}
}

type download struct {
	ctx  context.Context
	req  *Request
	body io.ReadCloser
}

// Read reads the file.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	if err != nil && err != io.EOF {
		err = d.req.Broken(d.ctx, err)
	}
	return n, err
}

// Close ends the download.
func (d *download) Close() error { return d.body.Close() }
