// Package disks puts the shape and the disks of a machine into a file, the stand-ins' own form of a checkpoint, and takes them out again. What
// one stand-in has written another one reads: the first line is a magic word and the shape as JSON, the rest a tar of the state directory.
package disks

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const magic = "smolcheckpoint/stand-in "

// ErrFormat says that something is no checkpoint.
var ErrFormat = errors.New("not a machine archive")

// Write writes the shape, which must be a JSON object, and the state directory dir.
func Write(w io.Writer, shape any, dir string) error {
	head, err := json.Marshal(shape)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", magic, head); err != nil {
		return err
	}
	return Pack(w, dir)
}

// Pack writes what is in dir as a tar.
func Pack(w io.Writer, dir string) error {
	p := &packer{tw: tar.NewWriter(w), dir: dir, names: map[[2]uint64]string{}}
	if err := filepath.WalkDir(dir, p.add); err != nil {
		return err // and no end of the archive, so that nobody takes it for whole
	}
	return p.tw.Close()
}

// packer writes a directory as a tar. A file with several names, as the one program of a small image has, is in it once.
type packer struct {
	tw    *tar.Writer
	dir   string
	names map[[2]uint64]string
}

func (p *packer) add(file string, d fs.DirEntry, err error) error {
	if err != nil || file == p.dir {
		return err
	}
	fi, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	if fi.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(fi, link)
	if err != nil {
		return nil // a socket: it ends with the machine
	}
	if h.Name, err = filepath.Rel(p.dir, file); err != nil {
		return err
	}
	h.Name, h.Format = filepath.ToSlash(h.Name), tar.FormatPAX
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{} // the same disks are the same bytes, however often they are read
	if p.again(h, fi) {
		return p.tw.WriteHeader(h)
	}
	if err := p.tw.WriteHeader(h); err != nil || !fi.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(p.tw, f)
	return err
}

// again makes the header that of a further name, if the file is in the archive under another.
func (p *packer) again(h *tar.Header, fi fs.FileInfo) bool {
	id, linked := inode(fi)
	if !linked || !fi.Mode().IsRegular() {
		return false
	}
	first, seen := p.names[id]
	if !seen {
		p.names[id] = h.Name
		return false
	}
	h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
	return true
}

// Copy copies what is in src to dst, which it makes.
func Copy(dst, src string) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(Pack(w, src)) }()
	err := Unpack(r, dst)
	if _, cut := io.Copy(io.Discard, r); err == nil {
		err = cut // what follows the archive is nothing, or why there is no end
	}
	return err
}

// ReadShape reads the first line into shape. It matches [ErrFormat] if this is no checkpoint.
func ReadShape(r *bufio.Reader, shape any) error {
	word := make([]byte, len(magic))
	if _, err := io.ReadFull(r, word); err != nil || string(word) != magic {
		return ErrFormat
	}
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%w: it is cut short", ErrFormat)
	}
	return json.Unmarshal(line, shape)
}

// Unpack writes the disks, which follow the shape in r, to dir. It makes dir.
func Unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // whatever the archive names, nothing is written beyond dir
	if err != nil {
		return err
	}
	defer root.Close()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = unpackOne(root, h, tr)
		}
		if err != nil {
			return err
		}
	}
}

func unpackOne(root *os.Root, h *tar.Header, r io.Reader) error {
	mode := h.FileInfo().Mode()
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		err = root.MkdirAll(h.Name, 0o700)
	case tar.TypeSymlink:
		err = root.Symlink(h.Linkname, h.Name)
	case tar.TypeLink:
		return root.Link(h.Linkname, h.Name)
	case tar.TypeReg:
		var f *os.File
		if f, err = root.OpenFile(h.Name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600); err == nil {
			_, err = io.Copy(f, r)
			err = errors.Join(err, f.Close())
		}
	default:
		return nil
	}
	if err == nil && os.Geteuid() == 0 {
		err = root.Lchown(h.Name, h.Uid, h.Gid)
	}
	if err != nil || h.Typeflag == tar.TypeSymlink {
		return err
	}
	return errors.Join(root.Chmod(h.Name, mode), root.Chtimes(h.Name, time.Time{}, h.ModTime))
}
