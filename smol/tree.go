package smol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/internal/guest"
)

// CopyOptions are the knobs of [Machine.CopyFS] and [Machine.CopyOut].
type CopyOptions struct {
	// SkipSpecial leaves out what cannot be copied: devices, pipes, sockets, symbolic links that cannot be read, and in CopyOut those that lead
	// out of the tree. Without it CopyFS fails before it changes anything, and CopyOut fails at its end, with the rest copied.
	SkipSpecial bool
}

// CopyFS copies the tree fsys to the directory at the absolute path in the machine, which is made if it is missing. What is there already
// stays, unless the tree has a file of that name.
//
// Files keep their permissions and, in seconds, their times of modification; the user that commands run as owns them. A file whose file system tells
// no permissions or no time gets 0644, a directory 0755, and the present. Symbolic links are copied as they are, without a look at
// where they lead.
//
// The tree goes as one stream that is never in memory or on this host's disk: it is stored in the machine, with an upload and a command for each
// 64 MiB, and the last command unpacks it with the machine's tar. Each file appears at once or not at all only if the machine's tar does so;
// a CopyFS that fails before everything has arrived leaves the directory as it was. The unpacking is one command, and so has as long as the service
// gives commands: five minutes, locally.
//
// An error of fsys is in the chain of the error and named with its path. Errors match fs.ErrPermission, [ErrInvalid] if something else than a
// directory is in the way, and errors.ErrUnsupported if the machine has no tar.
func (m *Machine) CopyFS(ctx context.Context, dir string, fsys fs.FS, opts *CopyOptions) error {
	o, err := m.fileOp("copy tree", dir)
	if err != nil {
		return err
	}
	if fsys == nil {
		return o.wrap(invalidf("fsys", "is nil; give a file system, such as os.DirFS(\".\")"))
	}
	var c CopyOptions
	if opts != nil {
		c = *opts
	}
	err = o.copyFS(ctx, fsys, &c, false)
	if errors.Is(err, errWrongSize) {
		err = o.copyFS(ctx, fsys, &c, true)
	}
	passPanic(err)
	return err
}

// copyFS stages the tree and unpacks it.
func (o *fileOp) copyFS(ctx context.Context, fsys fs.FS, opts *CopyOptions, small bool) error {
	s, err := o.newStage(ctx, small)
	if err != nil {
		return err
	}
	archive, stop := packTree(ctx, fsys, opts)
	defer stop()
	if err := s.fill(ctx, &source{r: archive, left: -1}); err != nil {
		s.drop(ctx)
		return err
	}
	return s.finish(ctx, &guest.FileUntar{Dir: o.path, Pieces: s.pieces()})
}

// CopyOut copies the tree at the absolute path in the machine into root; of a single file, that file, under its own name. What is there already
// stays, unless the tree has a file of that name, which then is replaced at once.
//
// Files keep their permissions and times of modification; owners, and the bits for set-user-ID, set-group-ID and sticky, do not come along.
// Symbolic links are made if they are relative and do not lead out of root, hard links if the host can, else as copies.
// Nothing is written outside of root or through a symbolic link, whatever the machine sends.
//
// The machine's tar stores the tree in the machine first, as one file, which needs as much room again; then it is downloaded and unpacked as
// a stream. That is a command, a download and a command to clean up, and one more at the first use of a handle. The packing has as long as the
// service gives commands. "/" is refused.
//
// What cannot be copied is named by the error, with everything else copied, unless opts.SkipSpecial is set. When the stream breaks off, or root cannot be
// written, what has been copied stays, and the error says how much that is. Errors match fs.ErrNotExist and fs.ErrPermission, and
// errors.ErrUnsupported if the machine has no tar.
func (m *Machine) CopyOut(ctx context.Context, dir string, root *os.Root, opts *CopyOptions) error {
	o, err := m.fileOp("copy out", dir)
	if err != nil {
		return err
	}
	o.reads = true
	switch {
	case root == nil:
		return o.wrap(invalidf("root", "is nil; open one with os.OpenRoot"))
	case o.path == "/":
		return o.wrap(invalidf("dir", "\"/\" cannot be copied; name the directories in it that are wanted"))
	}
	base, err := o.base(ctx)
	if err != nil {
		return err
	}
	archive := &fileOp{m: m, name: o.name, path: stagePrefix(base) + "1", reads: true, visit: o.visit}
	reply, err := o.exec(ctx, &guest.FileTar{Dir: o.path, Stage: archive.path})
	if reply == nil || reply.Status == guest.FileOK {
		defer o.drop(ctx, archive.path)
	}
	if err != nil {
		return err
	}
	x := newUnpacker(ctx, root, opts != nil && opts.SkipSpecial)
	defer x.close()
	if reply.Status == guest.FilePlain {
		return o.wrap(x.finish(o.copyOutFile(ctx, x)))
	}
	return o.wrap(x.finish(o.copyOutTree(archive, x, reply)))
}

// copyOutTree unpacks the archive that lies in the machine.
func (o *fileOp) copyOutTree(archive *fileOp, x *unpacker, reply *guest.FileReply) error {
	if len(reply.Fields) != 2 {
		return unreadable(fmt.Errorf("%d fields", len(reply.Fields)))
	}
	size, err := strconv.ParseInt(reply.Fields[0], 10, 64)
	if err != nil {
		return unreadable(err)
	}
	if size <= 0 {
		return &Error{Code: CodeInternal, Message: "the machine's tar wrote nothing: " + shorten(strings.TrimSpace(o.said), 300)}
	}
	f, err := archive.open(x.ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Size() >= 0 && f.Size() != size {
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("the tree was packed into %d bytes and %d come", size, f.Size())}
	}
	if err := x.unpack(f); err != nil {
		return err
	}
	if code := reply.Fields[1]; code != "0" {
		return &Error{Code: CodeInternal, Message: "the machine could not read all of the tree: " + shorten(strings.TrimSpace(o.said), 300)}
	}
	return nil
}

// copyOutFile copies a single file.
func (o *fileOp) copyOutFile(ctx context.Context, x *unpacker) error {
	info, err := o.stat(ctx, true)
	if err != nil {
		return err
	}
	f, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	return x.entry(info.Name(), func(to *os.Root, name string) error {
		return x.writeFile(to, name, onlyReader{f}, info.Mode().Perm(), info.ModTime())
	})
}

// onlyReader hides the other methods of a reader.
type onlyReader struct{ io.Reader }
