package script

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// tar packs the tree under a directory, without the base that the stage lies in.
func (o *fileOps) tar(r *guest.FileTar) (*guest.FileReply, error) {
	fi, err := o.tree.Stat(r.Dir)
	if err != nil {
		return o.done(r.Dir, err)
	}
	if !fi.IsDir() {
		return status(guest.FilePlain), nil
	}
	f, err := o.tree.OpenFile(r.Stage, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return o.done(r.Stage, err)
	}
	defer f.Close()
	base, err := o.tree.resolve(path.Dir(path.Dir(r.Stage)), true)
	if err != nil {
		return o.done(r.Stage, err)
	}
	w := tar.NewWriter(f)
	err = o.pack(w, r.Dir, ".", base)
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		return status(guest.FileFailed), err
	}
	fi, err = o.tree.Stat(r.Stage)
	if err != nil {
		return o.done(r.Stage, err)
	}
	return ok(strconv.FormatInt(fi.Size(), 10), "0"), nil
}

// pack writes the file at, called name in the archive, and what is below it.
func (o *fileOps) pack(w *tar.Writer, at, name, without string) error {
	if real, err := o.tree.resolve(at, true); err == nil && real == without && name != "." {
		return nil
	}
	look := o.tree.Lstat
	if name == "." {
		look = o.tree.Stat
	}
	fi, err := look(at)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(linuxMode(fi.Mode()) & 0o7777), ModTime: fi.ModTime().Truncate(time.Second), Uname: "root", Gname: "root"}
	switch {
	case fi.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case fi.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = o.tree.Readlink(at); err != nil {
			return err
		}
	case fi.Mode().IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, fi.Size()
	default:
		return nil
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		f, err := o.tree.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.CopyN(w, f, h.Size)
		return err
	case tar.TypeDir:
		entries, err := o.tree.ReadDir(at)
		for n := 0; n < len(entries) && err == nil; n++ {
			err = o.pack(w, path.Join(at, entries[n].Name()), name+"/"+entries[n].Name(), without)
		}
		return err
	}
	return nil
}

// untar unpacks the tree in the pieces; they are gone afterwards.
func (o *fileOps) untar(r *guest.FileUntar) (*guest.FileReply, error) {
	defer func() {
		for _, p := range r.Pieces {
			_ = o.tree.Remove(p.Path) // as rm -f
		}
	}()
	if reply, err := o.staged(r.Pieces); reply != nil || err != nil {
		return reply, err
	}
	if err := o.tree.MkdirAll(r.Dir, 0o755); err != nil {
		return o.done(r.Dir+"/x", err)
	}
	if fi, err := o.tree.Stat(r.Dir); err != nil || !fi.IsDir() {
		return status(guest.FileNotDir), nil
	}
	readers := make([]io.Reader, 0, len(r.Pieces))
	for _, p := range r.Pieces {
		f, err := o.tree.Open(p.Path)
		if err != nil {
			return o.done(p.Path, err)
		}
		defer f.Close()
		readers = append(readers, f)
	}
	if err := o.unpack(tar.NewReader(io.MultiReader(readers...)), r.Dir); err != nil {
		return status(guest.FileFailed), fmt.Errorf("tar: %w", err)
	}
	return ok(), nil
}

// unpack makes what the archive holds, under dir. Directories get their modes last, or a read-only one could not be filled.
func (o *fileOps) unpack(r *tar.Reader, dir string) error {
	var dirs []*tar.Header
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if slices.Contains(strings.Split(h.Name, "/"), "..") {
			return fmt.Errorf("%s: member name contains '..'", h.Name)
		}
		h.Name = path.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
		}
		if err := o.unpackOne(r, h, dir); err != nil {
			return err
		}
	}
	for _, h := range slices.Backward(dirs) {
		if err := o.finish(h); err != nil {
			return err
		}
	}
	return nil
}

func (o *fileOps) unpackOne(r io.Reader, h *tar.Header, dir string) error {
	if h.Typeflag == tar.TypeDir {
		return o.tree.MkdirAll(h.Name, 0o755)
	}
	if err := o.tree.MkdirAll(path.Dir(h.Name), 0o700); err != nil { // the script's mask is 077
		return err
	}
	if err := o.tree.Remove(h.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return o.tree.Symlink(h.Linkname, h.Name)
	case tar.TypeLink:
		return o.tree.Link(path.Join(dir, h.Linkname), h.Name)
	case tar.TypeReg:
		f, err := o.tree.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		return o.finish(h)
	}
	return fmt.Errorf("%s: files of type %q cannot be made here", h.Name, h.Typeflag)
}

// finish gives a file the mode and time that the archive says.
func (o *fileOps) finish(h *tar.Header) error {
	if err := o.tree.Chmod(h.Name, fileMode(uint32(h.Mode))); err != nil {
		return err
	}
	return o.tree.Chtimes(h.Name, h.ModTime)
}
