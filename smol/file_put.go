package smol

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/smol-machines/smol-go/internal/guest"
)

// WriteOptions are the knobs of [Machine.WriteFile] and [Machine.Put]. Nil and the zero value keep what is there.
type WriteOptions struct {
	// Mode is the mode that the file gets: permissions, and fs.ModeSetuid, fs.ModeSetgid and fs.ModeSticky. The machine's umask does not matter.
	// Zero: a file that is there keeps its mode, a new one gets 0644.
	Mode fs.FileMode
	// Size is how many bytes Put reads from its reader; what the reader holds beyond them is left in it, and an end before them is an
	// error. Zero: all up to the end of the reader. Put finds the size of readers with Len or Seek, such as bytes.Reader and regular
	// files, by itself; knowing it makes an upload of 64 to 100 MiB cheaper.
	Size int64
}

// WriteFile writes data to the file at the absolute path in the machine, as os.WriteFile does: see [Machine.Put].
func (m *Machine) WriteFile(ctx context.Context, path string, data []byte, opts *WriteOptions) error {
	if opts != nil && opts.Size != 0 && opts.Size != int64(len(data)) {
		return wrapError("write file", m.Name(), invalidf("WriteOptions.Size", "is %d and there are %d bytes; leave it out", opts.Size, len(data)))
	}
	return m.Put(ctx, path, bytes.NewReader(data), opts)
}

// Put writes what r holds to the file at the absolute path in the machine.
//
// Readers in the machine see the old content or the new one, each whole, and a Put that fails or is cancelled leaves the old one. Missing parents
// are made with mode 0755. A file that is replaced keeps its owner and, without WriteOptions.Mode, its mode; other names of it (hard links)
// keep the old content. A symbolic link is followed. A file that is a mount of its own, as /etc/hosts is in containers, cannot be replaced and
// is overwritten in place.
//
// The content is never in memory as a whole: it goes to a file below /workspace/.smol, or /var/tmp/.smol where a mount covers /workspace, and one
// command checks its size and moves it. Up to 100 MiB are one upload and one command if the size can be known; otherwise it is one of each for 64 MiB.
// The first Put of a handle sends one command more. Nothing is sent twice, with one exception: if the machine has not got what the service
// says it has written, r is read again from its beginning and sent in pieces of 1 MiB, if it is an io.Seeker.
//
// Where the last command is killed, as when the machine loses its power, a file .smol-* can stay beside the target. Nothing removes it, since finding
// such files would cost every Put a program; it can be deleted.
//
// A Put that fails with [ErrUnavailable] or a context error after its last byte was sent may still take effect. r may be read for a
// moment after Put has returned with an error.
//
// In an image without a shell the file is written by the service alone: its mode is 0644 and its owner root, and WriteOptions.Mode fails. Where
// the service is not known to keep large files, above 1 MiB outside of /workspace, that is refused.
//
// Errors match [ErrInvalid] for a directory or a bad path, and fs.ErrPermission.
func (m *Machine) Put(ctx context.Context, path string, r io.Reader, opts *WriteOptions) error {
	o, err := m.fileOp("write file", path)
	if err != nil {
		return err
	}
	var w WriteOptions
	if opts != nil {
		w = *opts
	}
	mode, err := modeBits("WriteOptions.Mode", w.Mode)
	if err != nil {
		return o.wrap(err)
	}
	src, err := newSource(r, w.Size)
	if err != nil {
		return o.wrap(err)
	}
	if w.Mode == 0 {
		mode = -1
	}
	err = o.put(ctx, src, mode, false)
	if errors.Is(err, errWrongSize) && src.rewind != nil && src.rewind() == nil {
		err = o.put(ctx, src, mode, true)
	}
	passPanic(err)
	return err
}

// put stages what src holds and makes it the file. A negative mode keeps that of the file that is there.
func (o *fileOp) put(ctx context.Context, src *source, mode int, small bool) error {
	s, err := o.newStage(ctx, small)
	if errors.Is(err, guest.ErrNoShell) {
		return o.putPlain(ctx, src, mode, err)
	}
	if err != nil {
		return err
	}
	if err := s.fill(ctx, src); err != nil {
		s.drop(ctx)
		return err
	}
	return s.finish(ctx, &guest.FileCommit{Path: o.path, Mode: mode, Pieces: s.pieces()})
}
