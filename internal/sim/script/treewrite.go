package script

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// Mkdir makes one directory.
func (t *Tree) Mkdir(name string, perm fs.FileMode) error {
	return t.change("mkdir", name, false, func(p place) error {
		made := t.modes.making(p, perm, false)
		return then(p.root.Mkdir(p.rel, perm), made)
	})
}

// MkdirAll makes a directory with its parents; one that exists is left as it is.
func (t *Tree) MkdirAll(name string, perm fs.FileMode) error {
	if fi, err := t.Stat(name); err == nil && fi.IsDir() {
		return nil
	}
	return t.change("mkdir", name, true, func(p place) error {
		made := t.modes.making(p, perm, true)
		return then(p.root.MkdirAll(p.rel, perm), made)
	})
}

// Remove deletes a file, a symbolic link or an empty directory.
func (t *Tree) Remove(name string) error {
	return t.change("remove", name, false, func(p place) error {
		return then(p.root.Remove(p.rel), func() { t.modes.removed(p) })
	})
}

// RemoveAll deletes name with everything below it; there being nothing is not an error.
func (t *Tree) RemoveAll(name string) error {
	return t.change("remove", name, false, func(p place) error {
		return then(p.root.RemoveAll(p.rel), func() { t.modes.removed(p) })
	})
}

// Symlink makes newname say oldname, which need not exist.
func (t *Tree) Symlink(oldname, newname string) error {
	return t.change("symlink", newname, false, func(p place) error { return p.root.Symlink(oldname, p.rel) })
}

// Link makes newname another name of the file oldname.
func (t *Tree) Link(oldname, newname string) error {
	from, err := t.find(oldname, true)
	if err != nil {
		return guestError("link", oldname, err)
	}
	return t.change("link", newname, false, func(to place) error {
		if from.root != to.root {
			return errCrossDevice
		}
		return then(to.root.Link(from.rel, to.rel), func() { t.modes.linked(from, to) })
	})
}

// Rename moves oldname to newname, replacing a file that is there. Both must lie on the same side of a mount.
func (t *Tree) Rename(oldname, newname string) error {
	from, err := t.find(oldname, false)
	if err == nil && from.readOnly {
		err = ErrReadOnly
	}
	if err != nil {
		return guestError("rename", oldname, err)
	}
	return t.change("rename", newname, false, func(to place) error {
		if from.root != to.root {
			return errCrossDevice
		}
		return then(to.root.Rename(from.rel, to.rel), func() { t.modes.renamed(from, to) })
	})
}

// then calls next unless there is an error, which it returns.
func then(err error, next func()) error {
	if err == nil {
		next()
	}
	return err
}

// Chmod sets the permission bits of a file. On Windows only the tree knows of them.
func (t *Tree) Chmod(name string, perm fs.FileMode) error {
	return t.change("chmod", name, true, func(p place) error { return t.modes.chmod(p, perm) })
}

// Chtimes sets when a file was last changed.
func (t *Tree) Chtimes(name string, at time.Time) error {
	return t.change("chtimes", name, true, func(p place) error { return p.root.Chtimes(p.rel, at, at) })
}

// WriteFile replaces what the file name holds, making the file with perm if there is none.
func (t *Tree) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := t.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(data))
	if e := f.Close(); err == nil {
		err = e
	}
	return guestError("write", name, err)
}

// Replace puts a new file with the bytes of r and the mode perm in the place of name, in one step, and makes its parents. It returns
// how many bytes there were; after an error name is as it was.
func (t *Tree) Replace(name string, r io.Reader, perm fs.FileMode) (int64, error) {
	at, err := t.resolve(name, true)
	if err != nil {
		return 0, guestError("open", name, err)
	}
	if err := t.MkdirAll(path.Dir(at), 0o755); err != nil {
		return 0, err
	}
	if fi, err := t.Lstat(at); err == nil && !fi.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "open", Path: name, Err: errIsDir}
	}
	tmp := path.Join(path.Dir(at), ".smol-"+rand.Text())
	f, err := t.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, r)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = t.Chmod(tmp, perm)
	}
	if err == nil {
		err = t.Rename(tmp, at)
	}
	if err != nil {
		t.Remove(tmp)
	}
	return n, err
}

// copyTree copies the tree below src, which nobody writes to, to dst, with modes, times and symbolic links.
func copyTree(ctx context.Context, dst, src string) error {
	from, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.Mkdir(dst, 0o755); err != nil {
		return err
	}
	to, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	err = fs.WalkDir(from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		return copyEntry(to, from, filepath.FromSlash(name), fi)
	})
	if err != nil {
		return err
	}
	return copyModes(dst, src)
}

func copyEntry(to, from *os.Root, name string, fi fs.FileInfo) error {
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		said, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(said, name)
	case fi.IsDir():
		// Writable while it is filled: a directory without w is rare, and the copy keeps its w.
		return to.Mkdir(name, fi.Mode().Perm()|0o700)
	case !fi.Mode().IsRegular():
		return nil
	}
	r, err := from.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := to.Chmod(name, fi.Mode().Perm()); err != nil {
		return err
	}
	return to.Chtimes(name, fi.ModTime(), fi.ModTime())
}
