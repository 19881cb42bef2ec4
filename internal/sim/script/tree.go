package script

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim"
)

// ErrReadOnly is the refusal to write below a mount that is read-only.
var ErrReadOnly = errors.New("read-only file system")

// Tree is the files of one machine: a directory of the host, with the machine's mounts in their places. Names are absolute and
// slash-separated, as inside the machine; symbolic links mean what they mean there, and none leads out of the tree. Its methods
// are safe for concurrent use, and their errors name the path as the machine knows it.
type Tree struct {
	root   *os.Root
	mounts []mount
	modes  *modes
}

// mount is a host directory that covers the guest path at.
type mount struct {
	at       string
	root     *os.Root
	readOnly bool
}

// OpenTree opens the directory dir, making it if need be, as the root of a tree, and the mounts on top of it, making the directories
// they cover. The tree must be closed.
func OpenTree(dir string, mounts []sim.Mount) (*Tree, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	modes, err := openModes(dir)
	if err != nil {
		root.Close()
		return nil, err
	}
	t := &Tree{root: root, modes: modes}
	for _, m := range mounts {
		if err := t.mount(m); err != nil {
			t.Close()
			return nil, fmt.Errorf("mount %s: %w", m.Target, err)
		}
	}
	return t, nil
}

// openRoot opens a directory that others may delete meanwhile: Windows allows that only for what was opened inside a root.
func openRoot(dir string) (*os.Root, error) {
	outer, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	return outer.OpenRoot(".")
}

// mount puts m on top of what is there already.
func (t *Tree) mount(m sim.Mount) error {
	at := path.Clean("/" + m.Target)
	if at == "/" {
		return errors.New("a mount cannot cover the root")
	}
	if err := t.MkdirAll(at, 0o755); err != nil && !errors.Is(err, ErrReadOnly) {
		return err
	}
	root, err := openRoot(m.Source)
	if err != nil {
		return err
	}
	t.mounts = append(t.mounts, mount{at: at, root: root, readOnly: m.ReadOnly})
	slices.SortStableFunc(t.mounts, func(a, b mount) int { return len(b.at) - len(a.at) })
	return nil
}

// Close releases the tree. It deletes nothing.
func (t *Tree) Close() error {
	errs := []error{t.modes.save(), t.root.Close()}
	for _, m := range t.mounts {
		errs = append(errs, m.root.Close())
	}
	return errors.Join(errs...)
}

// Stat describes the file, following symbolic links.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	return onPlace(t, "stat", name, true, t.lstat)
}

// Lstat describes the file, or the symbolic link if it is one.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	return onPlace(t, "lstat", name, false, t.lstat)
}

func (t *Tree) lstat(p place) (fs.FileInfo, error) {
	fi, err := p.root.Lstat(p.rel)
	return t.modes.info(p, fi, err)
}

// Readlink returns what a symbolic link says, with slashes.
func (t *Tree) Readlink(name string) (string, error) {
	return onPlace(t, "readlink", name, false, func(p place) (string, error) {
		to, err := p.root.Readlink(p.rel)
		return filepath.ToSlash(to), err
	})
}

// Open opens a file or directory for reading.
func (t *Tree) Open(name string) (*os.File, error) { return t.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file as os.OpenFile does.
func (t *Tree) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return onPlace(t, "open", name, true, func(p place) (*os.File, error) {
		if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0 && p.readOnly {
			return nil, ErrReadOnly
		}
		made := func() {}
		if flag&os.O_CREATE != 0 {
			made = t.modes.making(p, perm, false)
		}
		f, err := p.root.OpenFile(p.rel, flag, perm)
		return f, then(err, made)
	})
}

// ReadDir lists a directory in the order of names.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := t.view(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, guestError("readdir", name, err)
}

// view opens a file or directory for reading, which tells of names and modes as the machine does.
func (t *Tree) view(name string) (fs.ReadDirFile, error) {
	return onPlace(t, "open", name, true, func(p place) (fs.ReadDirFile, error) {
		f, err := p.root.Open(p.rel)
		if err != nil {
			return nil, err // a nil *os.File is not a nil fs.ReadDirFile
		}
		return t.modes.opened(p, f), nil
	})
}

// ReadFile returns what a file holds.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	f, err := t.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, guestError("read", name, err)
}

// FS is the whole tree for reading, rooted at "/".
func (t *Tree) FS() fs.FS { return treeFS{t} }

type treeFS struct{ t *Tree }

func (f treeFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return f.t.view("/" + name)
}
