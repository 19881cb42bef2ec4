package local

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// checkpointMagic begins the first line of a checkpoint; a record follows on that line, and the disks as a tar.
const checkpointMagic = "smolcheckpoint/stand-in "

// checkpoint sends the machine's shape and disks. The machine stands still while they are copied.
func (c *call) checkpoint() (any, error) {
	m, err := c.locked(c.find)
	if err != nil {
		return nil, err
	}
	rec, v := m.snapshot()
	var refusal error
	switch {
	case rec.State == statePaused:
		refusal = m.pausedRefusal()
	case v == nil:
		refusal = conflict("machine '%s' is not running", m.name)
	case len(rec.Mounts) > 0:
		refusal = badRequest("the initial portable checkpoint profile does not support host mounts")
	}
	if refusal != nil {
		m.life.unlock()
		return nil, refusal
	}
	dir, err := step(c.Server, c.ctx, func() (string, error) { return c.copyDisks(m, v, rec.Frozen) }, func(dir string, _ error) {
		_ = c.o.Guest.Remove(dir)
	})
	m.life.unlock()
	if err != nil {
		return nil, agentFailure("checkpoint", err)
	}
	defer c.o.Guest.Remove(dir)
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.WriteHeader(http.StatusOK)
	if err := writeCheckpoint(c.w, &rec, dir); err != nil {
		c.o.Log.Warn("checkpoint not sent", "machine", m.name, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil, nil
}

// copyDisks copies the disks of a machine to a directory that the caller removes, and returns it.
func (s *Server) copyDisks(m *machine, v *vm, frozen bool) (string, error) {
	dir := filepath.Join(s.store.vm(m.name), fmt.Sprintf("checkpoint-%d", s.counter.Add(1)))
	if err := v.inst.Freeze(); err != nil {
		return "", err
	}
	err := s.o.Guest.Copy(context.WithoutCancel(s.ctx), dir, s.store.guest(m.name))
	if !frozen {
		err = errors.Join(err, v.inst.Thaw())
	}
	if err != nil {
		_ = s.o.Guest.Remove(dir)
		return "", err
	}
	return dir, nil
}

func writeCheckpoint(w io.Writer, rec *record, dir string) error {
	head, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", checkpointMagic, head); err != nil {
		return err
	}
	p := &packer{tw: tar.NewWriter(w), dir: dir, names: map[[2]uint64]string{}}
	return errors.Join(filepath.WalkDir(dir, p.add), p.tw.Close())
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

// readCheckpointHead reads the first line of a checkpoint.
func readCheckpointHead(r *bufio.Reader) (*record, error) {
	magic := make([]byte, len(checkpointMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != checkpointMagic {
		return nil, errors.New("not a machine archive")
	}
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	rec := &record{}
	return rec, json.Unmarshal(line, rec)
}

// restore gives a new machine the shape of a checkpoint.
func (r *record) restore(from *record) {
	r.CPUs, r.MemoryMB, r.StorageGB, r.OverlayGB = from.CPUs, from.MemoryMB, from.StorageGB, from.OverlayGB
	r.Image, r.Images, r.Network = from.Image, from.Images, r.Network || from.Network
	if len(r.Argv) == 0 {
		r.Argv = from.Argv
	}
	if r.Workdir == "" {
		r.Workdir = from.Workdir
	}
	r.Env = overlay(from.Env, r.Env)
}

// unpack writes the disks of the checkpoint in file to dir.
func unpack(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if _, err := readCheckpointHead(r); err != nil {
		return err
	}
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
