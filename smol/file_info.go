package smol

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// FileInfo describes a file in a machine. It implements fs.FileInfo.
type FileInfo struct {
	// Path is the absolute path that was asked for, or that of the directory's entry. A name that is not UTF-8 is shown as it is, but no
	// call can name such a file.
	Path string
	// UID and GID are the numbers of the owner and the group in the machine.
	UID, GID int
	// Link is where a symbolic link leads, as it is written in the link. Empty for other files.
	Link string

	size    int64
	mode    fs.FileMode
	modTime time.Time
}

var _ fs.FileInfo = (*FileInfo)(nil)

// Name returns the last element of Path.
func (f *FileInfo) Name() string { return path.Base(f.Path) }

// Size returns the length in bytes of a regular file; for others it depends on the machine's file system.
func (f *FileInfo) Size() int64 { return f.size }

// Mode returns the type and permissions.
func (f *FileInfo) Mode() fs.FileMode { return f.mode }

// ModTime returns when the content was changed last, by the machine's clock.
func (f *FileInfo) ModTime() time.Time { return f.modTime }

// IsDir reports whether f describes a directory.
func (f *FileInfo) IsDir() bool { return f.mode.IsDir() }

// Sys returns nil.
func (f *FileInfo) Sys() any { return nil }

func newFileInfo(p string, r *guest.FileRecord) *FileInfo {
	return &FileInfo{
		Path: p, UID: r.UID, GID: r.GID, Link: r.Link, size: r.Size, mode: fileMode(r.Mode), modTime: r.ModTime,
	}
}

// Stat describes the file at the absolute path in the machine, following symbolic links as os.Stat does. It is one command. Errors match
// fs.ErrNotExist and fs.ErrPermission.
func (m *Machine) Stat(ctx context.Context, path string) (*FileInfo, error) {
	return m.stat(ctx, path, true)
}

// Lstat is [Machine.Stat] that describes a symbolic link itself, with FileInfo.Link, as os.Lstat does.
func (m *Machine) Lstat(ctx context.Context, path string) (*FileInfo, error) {
	return m.stat(ctx, path, false)
}

func (m *Machine) stat(ctx context.Context, path string, follow bool) (*FileInfo, error) {
	o, err := m.fileOp("stat", path)
	if err != nil {
		return nil, err
	}
	o.reads = true
	return o.stat(ctx, follow)
}

func (o *fileOp) stat(ctx context.Context, follow bool) (*FileInfo, error) {
	reply, err := o.exec(ctx, &guest.FileStat{Path: o.path, Follow: follow})
	if err != nil {
		return nil, err
	}
	rec, err := guest.ParseFileRecord(reply.Body, o.path)
	if err != nil {
		return nil, o.wrap(unreadable(err))
	}
	return newFileInfo(o.path, rec), nil
}

// unreadable says that an answer of the machine is not what the library's script writes.
func unreadable(err error) error {
	return &Error{Code: CodeInternal, Message: "the machine's answer cannot be read: " + err.Error(), Err: err}
}

// ReadDir describes the entries of the directory at the absolute path in the machine, sorted by name. Symbolic links among them are described
// themselves, with FileInfo.Link; path itself may be one. An entry that comes or goes meanwhile may be in the result or not.
//
// It is one command for some 10,000 entries; a listing above 4 MiB goes through a file in the machine, which is a download and two commands
// more. Errors match fs.ErrNotExist, fs.ErrPermission and, if path is not a directory, [ErrInvalid].
func (m *Machine) ReadDir(ctx context.Context, path string) ([]*FileInfo, error) {
	o, err := m.fileOp("read directory", path)
	if err != nil {
		return nil, err
	}
	o.reads = true
	reply, err := o.exec(ctx, &guest.FileList{Dir: o.path})
	if err != nil {
		return nil, err
	}
	infos, err := o.entries(bytes.NewReader(reply.Body))
	if err == nil {
		return infos, nil
	}
	infos, err = o.longListing(ctx)
	return infos, o.wrap(err)
}

// longListing lists a directory through a file in the machine.
func (o *fileOp) longListing(ctx context.Context) ([]*FileInfo, error) {
	base, err := o.base(ctx)
	if err != nil {
		return nil, err
	}
	prefix := stagePrefix(base)
	defer o.drop(ctx, prefix)
	listing := &fileOp{m: o.m, name: o.name, path: prefix + "1", reads: true, visit: o.visit}
	if _, err := o.exec(ctx, &guest.FileList{Dir: o.path, Stage: listing.path}); err != nil {
		return nil, err
	}
	f, err := listing.open(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return o.entries(f)
}

// entries reads a listing.
func (o *fileOp) entries(r io.Reader) ([]*FileInfo, error) {
	infos := []*FileInfo{}
	for rec, err := range guest.ReadFileRecords(r) {
		if err != nil {
			return nil, unreadable(err)
		}
		infos = append(infos, newFileInfo(strings.TrimSuffix(o.path, "/")+"/"+rec.Name, rec))
	}
	slices.SortFunc(infos, func(a, b *FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return infos, nil
}
