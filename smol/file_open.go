package smol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/smol-machines/smol-go/internal/limit"
)

// OpenOptions say what part of a file [Machine.Open] gives. Nil and the zero value: all of it.
type OpenOptions struct {
	// Offset is where to begin, in bytes. Behind the end of the file there is nothing, which is no error.
	Offset int64
	// Length is the most bytes to give. Zero: all up to the end.
	Length int64
}

// ReadFile returns the content of the file at the absolute path in the machine. For large files see [Machine.Open]. Errors match
// fs.ErrNotExist, fs.ErrPermission and, for a directory, [ErrInvalid].
func (m *Machine) ReadFile(ctx context.Context, path string) ([]byte, error) {
	f, err := m.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A size that is told wrongly must not cost all the memory there is.
	b := bytes.NewBuffer(make([]byte, 0, min(max(f.Size(), 0), 64<<20)+bytes.MinRead))
	if _, err := f.WriteTo(b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Open opens the file at the absolute path in the machine for reading. ctx bounds the reading too. The caller closes the File.
//
// A whole file is one download. A part of it is cut out in the machine: up to 256 KiB come with one command, more goes through a file below
// /workspace/.smol in pieces of 64 MiB, with a command and a download for each. A file of /proc, which has no size, is read by commands
// of 256 KiB each.
//
// A file of more than 64 KiB that is open occupies one of the machine's few places for calls until it has been read to its end or
// closed; further calls may wait for that.
//
// A file that changes while it is read gives old and new parts, as a local one does. Errors match fs.ErrNotExist, fs.ErrPermission and, for a directory,
// [ErrInvalid].
func (m *Machine) Open(ctx context.Context, path string, opts *OpenOptions) (*File, error) {
	o, err := m.fileOp("read file", path)
	if err != nil {
		return nil, err
	}
	o.reads = true
	if opts == nil || *opts == (OpenOptions{}) {
		return o.open(ctx)
	}
	switch {
	case opts.Offset < 0:
		return nil, o.wrap(invalidf("OpenOptions.Offset", "is negative"))
	case opts.Length < 0:
		return nil, o.wrap(invalidf("OpenOptions.Length", "is negative; leave it out to read up to the end"))
	case opts.Offset > math.MaxInt64-opts.Length:
		return nil, o.wrap(invalidf("OpenOptions.Length", "ends behind the largest possible file"))
	}
	length := int64(-1)
	if opts.Length > 0 {
		length = opts.Length
	}
	return o.openRange(ctx, opts.Offset, length)
}

// readAhead is how much of a file is read at once when it is opened, so that small files occupy nothing.
const readAhead = 64 << 10

// open opens the whole file.
func (o *fileOp) open(ctx context.Context) (*File, error) {
	b, ok := find[FileBackend](o.m.fleet.backend)
	if !ok {
		return o.openRange(ctx, 0, -1)
	}
	body, size, err := o.download(ctx, b)
	if err != nil {
		return o.openFailed(ctx, err)
	}
	f := &File{o: o, ctx: ctx, body: body, size: size}
	head := make([]byte, readAhead)
	if size >= 0 {
		head = head[:min(size+1, readAhead)]
	}
	n, err := io.ReadFull(f, head)
	switch {
	case err == io.EOF && f.o.m.guest.shell() == nil:
		// Files of /proc say that they are empty.
		f.Close()
		return o.openRange(ctx, 0, -1)
	case err == io.EOF, err == io.ErrUnexpectedEOF: // of a File that broke off neither is bare
		f.Close()
		return o.inMemory(ctx, head[:n]), nil
	case err != nil:
		f.Close()
		return nil, err
	}
	f.head = head
	return f, nil
}

// openFailed finds out why a file cannot be downloaded. Services tell little more than that.
func (o *fileOp) openFailed(ctx context.Context, err error) (*File, error) {
	var e *Error
	known := errors.Is(err, fs.ErrNotExist) || isMissingMachine(err)
	if errors.Is(err, errors.ErrUnsupported) {
		return o.openRange(ctx, 0, -1)
	}
	if known || ctx.Err() != nil || !errors.As(err, &e) || e.Status == 0 || o.m.guest.shell() != nil {
		return nil, o.wrap(err)
	}
	info, failed := o.stat(ctx, true)
	most := o.m.fleet.traits.MaxDownload
	switch {
	case errors.Is(failed, ErrNotFound), errors.Is(failed, ErrInvalid), errors.Is(failed, ErrPermission):
		return nil, failed
	case failed != nil:
	case info.IsDir():
		return nil, o.wrap(&Error{Code: CodeInvalid, Message: "is a directory", Err: err})
	case !info.Mode().IsRegular():
		return nil, o.wrap(&Error{Code: CodeInvalid, Message: "is neither a file nor a directory", Err: err})
	case most > 0 && info.Size() > most:
		return o.openRange(ctx, 0, -1)
	}
	return nil, o.wrap(err)
}

// download opens the file through the fleet. Its place at the machine is kept until the body is closed.
func (o *fileOp) download(ctx context.Context, b FileBackend) (io.ReadCloser, int64, error) {
	d := &download{}
	var size int64
	err := o.keepPlace(ctx, func(ctx context.Context, id string) (err error) {
		d.ReadCloser, size, err = b.Download(ctx, id, o.path)
		return err
	}, &d.release)
	if err != nil {
		return nil, 0, err
	}
	return d, size, nil
}

// keepPlace is in for a call that goes on after fn: release gives its place back.
func (o *fileOp) keepPlace(ctx context.Context, fn func(ctx context.Context, id string) error, release *func()) error {
	return o.again(func() error {
		id, free, err := o.m.place(ctx, limit.Ordinary, o.visit.enter)
		if err != nil {
			return err
		}
		if err := fn(ctx, id); err != nil {
			free()
			return err
		}
		o.visit.arrived()
		*release = free
		return nil
	})
}

// download is the body of a file that comes through the fleet, with its place at the machine.
type download struct {
	io.ReadCloser
	release func()
}

// Close ends the download and gives the place back.
func (d *download) Close() error {
	err := d.ReadCloser.Close()
	d.release()
	return err
}

// inMemory returns a file whose content is there already.
func (o *fileOp) inMemory(ctx context.Context, b []byte) *File {
	return &File{o: o, ctx: ctx, body: io.NopCloser(bytes.NewReader(b)), size: int64(len(b))}
}

// File is an open file of a machine, or a part of one. It is for one goroutine at a time.
type File struct {
	o    *fileOp
	ctx  context.Context // that of Open, which bounds the reading
	body io.ReadCloser   // nil: closed
	head []byte          // of the body, read already
	size int64
	n    int64 // read from body
	err  error // ends the reading
}

// Size returns how many bytes the File gives in all, or -1 if the machine cannot know, as for files of /proc.
func (f *File) Size() int64 { return f.size }

// Read reads the file. An end before the size that was told is an error matching io.ErrUnexpectedEOF and [ErrUnavailable].
func (f *File) Read(p []byte) (int, error) {
	if len(f.head) > 0 && f.body != nil {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	if f.err != nil {
		return 0, f.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.body.Read(p)
	f.n += int64(n)
	if err != nil {
		f.end(err)
	}
	if n > 0 && f.err == io.EOF {
		return n, nil
	}
	return n, f.err
}

// end notes why there is nothing more to read, and lets go of the machine.
func (f *File) end(err error) {
	switch {
	case err != io.EOF && f.ctx.Err() != nil:
		f.err = f.o.wrap(cause(f.ctx))
	case err != io.EOF:
		f.err = f.o.wrap(err)
	case f.size >= 0 && f.n != f.size:
		f.err = f.o.wrap(&Error{
			Code: CodeUnavailable, Err: io.ErrUnexpectedEOF, Message: fmt.Sprintf("%d of %d bytes came", f.n, f.size),
		})
	default:
		f.err = io.EOF
	}
	_ = f.body.Close() // nothing is wanted of it any more
	f.body = io.NopCloser(nil)
}

// WriteTo writes what is left of the file to w. io.Copy uses it.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	var written int64
	var buf []byte
	for {
		p := f.head
		f.head = nil
		if len(p) == 0 {
			if buf == nil {
				buf = make([]byte, readAhead)
			}
			n, err := f.Read(buf)
			if n == 0 && err == io.EOF {
				return written, nil
			}
			if n == 0 && err != nil {
				return written, err
			}
			p = buf[:n]
		}
		n, err := w.Write(p)
		written += int64(n)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, err
		}
	}
}

// Close lets go of the file. It can be called more than once.
func (f *File) Close() error {
	if f.body != nil && f.err == nil {
		_ = f.body.Close() // what was read is what was wanted
	}
	f.body, f.head = nil, nil
	f.err = fs.ErrClosed
	return nil
}
