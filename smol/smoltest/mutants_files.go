package smoltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/smol-machines/smol-go/smol"
)

// fileMutant has a fault in files.
func fileMutant(name, what string, change func(b *bentFiles)) Mutant {
	return Mutant{name, what, func(next smol.Backend) smol.Backend {
		files, ok := as[smol.FileBackend](next)
		if !ok {
			return next
		}
		b := &bentFiles{Backend: next, files: files}
		change(b)
		return b
	}}
}

// uploadMutant changes what is written.
func uploadMutant(name, what string, spoil func([]byte) []byte) Mutant {
	return fileMutant(name, what, func(b *bentFiles) {
		b.upload = func(ctx context.Context, id, path string, r io.Reader, _ int64) error {
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			data = spoil(data)
			return b.files.Upload(ctx, id, path, bytes.NewReader(data), int64(len(data)))
		}
	})
}

// downloadMutant changes what is read.
func downloadMutant(name, what string, spoil func(data []byte, size int64) ([]byte, int64)) Mutant {
	return fileMutant(name, what, func(b *bentFiles) {
		b.download = func(ctx context.Context, id, path string) (io.ReadCloser, int64, error) {
			body, size, err := b.files.Download(ctx, id, path)
			if err != nil {
				return nil, 0, err
			}
			data, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil {
				return nil, 0, err
			}
			data, size = spoil(data, size)
			return io.NopCloser(bytes.NewReader(data)), size, nil
		}
	})
}

func fileMutants() []Mutant {
	return []Mutant{
		uploadMutant("upload is empty", "what is uploaded is empty, so that commands have no input", func([]byte) []byte { return nil }),
		uploadMutant("upload of text", "CR LF in files becomes LF", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }),
		uploadMutant("upload cut", "files end after 64 KiB", func(b []byte) []byte { return b[:min(len(b), 64<<10)] }),
		fileMutant("upload appends", "an upload appends to the file that is there", func(b *bentFiles) {
			b.upload = func(ctx context.Context, id, path string, r io.Reader, _ int64) error {
				var old []byte
				if body, _, err := b.files.Download(ctx, id, path); err == nil {
					old, err = io.ReadAll(body)
					if err := errors.Join(err, body.Close()); err != nil {
						return err
					}
				}
				return b.files.Upload(ctx, id, path, io.MultiReader(bytes.NewReader(old), r), -1)
			}
		}),
		fileMutant("upload keeps", "an upload leaves a file that is there", func(b *bentFiles) {
			b.upload = func(ctx context.Context, id, path string, r io.Reader, size int64) error {
				body, _, err := b.files.Download(ctx, id, path)
				if errors.Is(err, fs.ErrNotExist) {
					return b.files.Upload(ctx, id, path, r, size)
				}
				if err == nil {
					err = body.Close()
				}
				return err
			}
		}),
		downloadMutant("download cut", "the last byte of a file is missing", func(data []byte, size int64) ([]byte, int64) {
			return data[:max(len(data)-1, 0)], size
		}),
		downloadMutant("download cut, size too", "the last byte of a file is missing, and the size says so", func(data []byte, _ int64) ([]byte, int64) {
			data = data[:max(len(data)-1, 0)]
			return data, int64(len(data))
		}),
		downloadMutant("size lie", "the size of a file is told as one more", func(data []byte, size int64) ([]byte, int64) { return data, size + 1 }),
		fileMutant("missing file is empty", "a file that is missing is empty", func(b *bentFiles) {
			b.download = func(ctx context.Context, id, path string) (io.ReadCloser, int64, error) {
				body, size, err := b.files.Download(ctx, id, path)
				if errors.Is(err, fs.ErrNotExist) {
					return io.NopCloser(bytes.NewReader(nil)), 0, nil
				}
				return body, size, err
			}
		}),
	}
}
