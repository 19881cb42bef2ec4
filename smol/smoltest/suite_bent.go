package smoltest

import (
	"context"
	"io"
	"iter"

	"github.com/smol-machines/smol-go/smol"
)

// bent is a backend with some of its methods replaced. The optional interfaces of the one behind it are reached through Unwrap.
type bent struct {
	smol.Backend

	create  func(ctx context.Context, spec *smol.Spec) (*smol.Info, error)
	inspect func(ctx context.Context, ref string) (*smol.Info, error)
	list    func(ctx context.Context, labels map[string]string) iter.Seq2[*smol.Info, error]
	start   func(ctx context.Context, id string, opts *smol.StartOptions) (*smol.Info, error)
	stop    func(ctx context.Context, id string, opts *smol.StopOptions) (*smol.Info, error)
	delete  func(ctx context.Context, id string, opts *smol.DeleteOptions) error
	exec    func(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error)
}

// Unwrap returns the backend behind it.
func (b *bent) Unwrap() smol.Backend { return b.Backend }

func (b *bent) Create(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
	if b.create != nil {
		return b.create(ctx, spec)
	}
	return b.Backend.Create(ctx, spec)
}

func (b *bent) Inspect(ctx context.Context, ref string) (*smol.Info, error) {
	if b.inspect != nil {
		return b.inspect(ctx, ref)
	}
	return b.Backend.Inspect(ctx, ref)
}

func (b *bent) List(ctx context.Context, labels map[string]string) iter.Seq2[*smol.Info, error] {
	if b.list != nil {
		return b.list(ctx, labels)
	}
	return b.Backend.List(ctx, labels)
}

func (b *bent) Start(ctx context.Context, id string, opts *smol.StartOptions) (*smol.Info, error) {
	if b.start != nil {
		return b.start(ctx, id, opts)
	}
	return b.Backend.Start(ctx, id, opts)
}

func (b *bent) Stop(ctx context.Context, id string, opts *smol.StopOptions) (*smol.Info, error) {
	if b.stop != nil {
		return b.stop(ctx, id, opts)
	}
	return b.Backend.Stop(ctx, id, opts)
}

func (b *bent) Delete(ctx context.Context, id string, opts *smol.DeleteOptions) error {
	if b.delete != nil {
		return b.delete(ctx, id, opts)
	}
	return b.Backend.Delete(ctx, id, opts)
}

func (b *bent) Exec(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	if b.exec != nil {
		return b.exec(ctx, id, req)
	}
	return b.Backend.Exec(ctx, id, req)
}

// bentFiles is a backend with its ways for files replaced.
type bentFiles struct {
	smol.Backend
	files    smol.FileBackend
	upload   func(ctx context.Context, id, path string, r io.Reader, size int64) error
	download func(ctx context.Context, id, path string) (io.ReadCloser, int64, error)
}

// Unwrap returns the backend behind it.
func (b *bentFiles) Unwrap() smol.Backend { return b.Backend }

func (b *bentFiles) Upload(ctx context.Context, id, path string, r io.Reader, size int64) error {
	if b.upload != nil {
		return b.upload(ctx, id, path, r, size)
	}
	return b.files.Upload(ctx, id, path, r, size)
}

func (b *bentFiles) Download(ctx context.Context, id, path string) (io.ReadCloser, int64, error) {
	if b.download != nil {
		return b.download(ctx, id, path)
	}
	return b.files.Download(ctx, id, path)
}

// as returns the first backend that implements T, of b and those it wraps.
func as[T any](b smol.Backend) (T, bool) {
	for b != nil {
		if t, ok := b.(T); ok {
			return t, true
		}
		u, ok := b.(interface{ Unwrap() smol.Backend })
		if !ok {
			break
		}
		b = u.Unwrap()
	}
	var none T
	return none, false
}
