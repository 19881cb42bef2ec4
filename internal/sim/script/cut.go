package script

import (
	"io"

	"github.com/smol-machines/smol-go/internal/guest"
)

// cut answers with a range of a file, in the reply or in a stage.
func (o *fileOps) cut(r *guest.FileCut) (*guest.FileReply, error) {
	fi, err := o.tree.Stat(r.Path)
	if err != nil {
		return o.done(r.Path, err)
	}
	switch {
	case fi.IsDir():
		return status(guest.FileIsDir), nil
	case !fi.Mode().IsRegular():
		return status(guest.FileSpecial), nil
	}
	f, err := o.tree.Open(r.Path)
	if err != nil {
		return o.done(r.Path, err)
	}
	defer f.Close()
	if fi, err = f.Stat(); err != nil {
		return o.done(r.Path, err)
	}
	c := &guest.CutReply{Size: fi.Size(), Identity: o.ids.of(r.Path, fi), Length: max(fi.Size()-r.Offset, 0)}
	if r.Length >= 0 {
		c.Length = min(c.Length, r.Length)
	}
	if c.Length <= r.Inline {
		reply := status(guest.FileOK, c.Fields(guest.FileOK)...)
		reply.Body, err = io.ReadAll(io.NewSectionReader(f, r.Offset, c.Length))
		if err != nil {
			return o.done(r.Path, err)
		}
		return reply, nil
	}
	if r.Stage == "" {
		return status(guest.FileBig, c.Fields(guest.FileBig)...), nil
	}
	c.Length = min(c.Length, r.Window)
	if _, err := o.tree.Replace(r.Stage, io.NewSectionReader(f, r.Offset, c.Length), 0o600); err != nil {
		return o.done(r.Stage, err)
	}
	return status(guest.FileStaged, c.Fields(guest.FileStaged)...), nil
}
