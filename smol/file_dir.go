package smol

import (
	"context"
	"io/fs"

	"github.com/smol-machines/smol-go/internal/guest"
)

// MkdirOptions are the knobs of [Machine.MkdirAll].
type MkdirOptions struct {
	// Mode is the mode of the directories that are made: permissions, and fs.ModeSetuid, fs.ModeSetgid and fs.ModeSticky. The machine's umask
	// does not matter. Zero: 0755.
	Mode fs.FileMode
}

// MkdirAll makes the directory at the absolute path in the machine, and its parents, as os.MkdirAll does: one that is there is left as it
// is. It is one command. Errors match fs.ErrPermission and, if something else than a directory is in the way, [ErrInvalid].
func (m *Machine) MkdirAll(ctx context.Context, path string, opts *MkdirOptions) error {
	o, err := m.fileOp("make directory", path)
	if err != nil {
		return err
	}
	mode := 0o755
	if opts != nil && opts.Mode != 0 {
		if mode, err = modeBits("MkdirOptions.Mode", opts.Mode); err != nil {
			return o.wrap(err)
		}
	}
	_, err = o.exec(ctx, &guest.FileMkdir{Path: o.path, Mode: mode})
	return err
}

// RemoveOptions are the knobs of [Machine.Remove].
type RemoveOptions struct {
	// Recursive removes a directory with all that is in it, and takes a path that is not there for removed, as os.RemoveAll does.
	Recursive bool
}

// Remove removes the file or empty directory at the absolute path in the machine, as os.Remove does; of a symbolic link, the link. It is one
// command. A directory with entries is refused with [ErrConflict], unless opts.Recursive is set. Errors match fs.ErrNotExist and
// fs.ErrPermission. "/" is refused.
func (m *Machine) Remove(ctx context.Context, path string, opts *RemoveOptions) error {
	o, err := m.fileOp("remove", path)
	if err != nil {
		return err
	}
	if o.path == "/" {
		return o.wrap(invalidf("path", "\"/\" cannot be removed; delete the machine"))
	}
	_, err = o.exec(ctx, &guest.FileRemove{Path: o.path, All: opts != nil && opts.Recursive})
	return err
}
