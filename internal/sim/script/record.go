package script

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"sync"

	"github.com/smol-machines/smol-go/internal/guest"
)

// The types and special bits of st_mode as Linux has them, and Go's.
var modeBits = []struct {
	linux uint32
	mode  fs.FileMode
}{
	{0o040000, fs.ModeDir},
	{0o120000, fs.ModeSymlink},
	{0o010000, fs.ModeNamedPipe},
	{0o140000, fs.ModeSocket},
	{0o020000, fs.ModeDevice | fs.ModeCharDevice},
	{0o060000, fs.ModeDevice},
}

var specialBits = []struct {
	linux uint32
	mode  fs.FileMode
}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}}

// linuxMode is the st_mode of a file.
func linuxMode(m fs.FileMode) uint32 {
	st := uint32(m.Perm())
	for _, b := range specialBits {
		if m&b.mode != 0 {
			st |= b.linux
		}
	}
	for _, b := range modeBits {
		if m&fs.ModeType == b.mode {
			return st | b.linux
		}
	}
	return st | 0o100000
}

// fileMode is a mode as chmod takes it.
func fileMode(st uint32) fs.FileMode {
	m := fs.FileMode(st & 0o777)
	for _, b := range specialBits {
		if st&b.linux != 0 {
			m |= b.mode
		}
	}
	return m
}

// describe is the record of the file at, under the name that is asked for.
func (o *fileOps) describe(at, name string, follow bool) (*guest.FileRecord, error) {
	look := o.tree.Lstat
	if follow {
		look = o.tree.Stat
	}
	fi, err := look(at)
	if err != nil {
		return nil, err
	}
	r := &guest.FileRecord{Name: name, Mode: linuxMode(fi.Mode()), Size: fi.Size(), ModTime: fi.ModTime()} // root owns all
	if r.IsLink() {
		if r.Link, err = o.tree.Readlink(at); err != nil {
			return nil, err
		}
		r.Size = int64(len(r.Link))
	}
	return r, nil
}

func (o *fileOps) stat(r *guest.FileStat) (*guest.FileReply, error) {
	rec, err := o.describe(r.Path, r.Path, r.Follow)
	if err != nil {
		return o.done(r.Path, err)
	}
	reply := ok()
	reply.Body = guest.AppendFileRecord(nil, rec)
	return reply, nil
}

func (o *fileOps) list(r *guest.FileList) (*guest.FileReply, error) {
	fi, err := o.tree.Stat(r.Dir)
	if err != nil {
		return o.done(r.Dir, err)
	}
	if !fi.IsDir() {
		return status(guest.FileNotDir), nil
	}
	entries, err := o.tree.ReadDir(r.Dir)
	if err != nil {
		return o.done(r.Dir, err)
	}
	var body []byte
	for _, e := range entries {
		rec, err := o.describe(path.Join(r.Dir, e.Name()), e.Name(), false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return o.done(r.Dir, err)
		}
		body = guest.AppendFileRecord(body, rec)
	}
	body = guest.AppendFileEnd(body)
	if r.Stage != "" {
		_, err := o.tree.Replace(r.Stage, bytes.NewReader(body), 0o600)
		return o.done(r.Stage, err)
	}
	reply := ok()
	reply.Body = body[:min(len(body), maxListing)]
	return reply, nil
}

// identities tell one file from another that has taken its name.
type identities struct {
	mu   sync.Mutex
	last int
	m    map[string]identity
}

type identity struct {
	fi fs.FileInfo
	n  int
}

// of returns a word that is the same as long as name means the same file.
func (ids *identities) of(name string, fi fs.FileInfo) string {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	id, known := ids.m[name]
	if !known || !os.SameFile(id.fi, fi) {
		if ids.m == nil {
			ids.m = map[string]identity{}
		}
		ids.last++
		id = identity{fi, ids.last}
		ids.m[name] = id
	}
	return "0:" + strconv.Itoa(id.n)
}
