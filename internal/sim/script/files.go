package script

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/internal/guest"
)

// maxListing is how much of a listing comes in a reply.
const maxListing = 8 << 20

// fileOps are the operations of the script for files, on a tree.
type fileOps struct {
	tree *Tree
	ids  identities
}

// do carries out one operation of the script for files, with the words of that script. The error is what a tool would have said.
func (o *fileOps) do(r guest.FileRequest) (*guest.FileReply, error) {
	switch r := r.(type) {
	case *guest.FileBase:
		return o.fileBase(r), nil
	case *guest.FileJoin:
		return o.withPieces(r.Pieces, func(string) (*guest.FileReply, error) { return ok(), nil })
	case *guest.FileAppend:
		return o.done(r.Stage, o.tree.append(r.Stage, r.Data))
	case *guest.FileCommit:
		return o.withPieces(r.Pieces, func(stage string) (*guest.FileReply, error) { return o.commit(r, stage) })
	case *guest.FileDrop:
		o.drop(r.Prefix)
		return ok(), nil
	case *guest.FileCut:
		return o.cut(r)
	case *guest.FileStat:
		return o.stat(r)
	case *guest.FileList:
		return o.list(r)
	case *guest.FileMkdir:
		return o.mkdir(r)
	case *guest.FileRemove:
		return o.remove(r)
	case *guest.FileTar:
		return o.tar(r)
	case *guest.FileUntar:
		return o.untar(r)
	}
	return status(guest.FileFailed), errors.New("smolfs: unknown operation")
}

func ok(fields ...string) *guest.FileReply {
	return &guest.FileReply{Status: guest.FileOK, Fields: fields}
}

func status(s guest.FileStatus, fields ...string) *guest.FileReply {
	return &guest.FileReply{Status: s, Fields: fields}
}

// done is the reply to something done to name: ok, or why not.
func (o *fileOps) done(name string, err error) (*guest.FileReply, error) {
	switch {
	case err == nil:
		return ok(), nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, ErrReadOnly):
		return status(guest.FileDenied), nil
	case errors.Is(err, errIsDir):
		return status(guest.FileIsDir), nil
	case o.barred(name):
		return status(guest.FileNotDir), nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errTooManyLinks):
		return status(guest.FileMissing), nil
	}
	return status(guest.FileFailed), err
}

// barred reports whether what should be a parent of name is no directory.
func (o *fileOps) barred(name string) bool {
	for dir := path.Dir(path.Clean(name)); dir != "/"; dir = path.Dir(dir) {
		if fi, err := o.tree.Stat(dir); err == nil {
			return !fi.IsDir()
		}
	}
	return false
}

func (o *fileOps) fileBase(r *guest.FileBase) *guest.FileReply {
	for _, base := range r.Bases {
		dir := guest.StageDir(base)
		if o.tree.MkdirAll(base, 0o755) != nil {
			continue
		}
		if err := o.tree.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			continue
		}
		if p, err := o.tree.find(dir, true); err == nil && !p.readOnly {
			return ok(base)
		}
	}
	return status(guest.FileNoBase)
}

func (o *fileOps) drop(prefix string) {
	dir, name := path.Split(prefix)
	entries, _ := o.tree.ReadDir(dir) // no directory: nothing to remove
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name) {
			_ = o.tree.Remove(path.Join(dir, e.Name())) // as rm -f
		}
	}
}

// withPieces checks the sizes of the pieces, joins them into the first, and hands that on. The pieces are gone afterwards, except that those
// joined by a FileJoin are the first.
func (o *fileOps) withPieces(pieces []guest.FilePiece, f func(stage string) (*guest.FileReply, error)) (*guest.FileReply, error) {
	reply, err := o.staged(pieces)
	for n := 1; n < len(pieces) && reply == nil && err == nil; n++ {
		err = o.tree.appendFile(pieces[0].Path, pieces[n].Path)
	}
	if err != nil {
		reply = status(guest.FileFailed)
	}
	whole := reply == nil
	if whole {
		reply, err = f(pieces[0].Path)
	}
	for n, p := range pieces {
		if n > 0 || !whole {
			_ = o.tree.Remove(p.Path) // as rm -f
		}
	}
	return reply, err
}

// staged returns the refusal of pieces that have not the sizes they must have, or nil.
func (o *fileOps) staged(pieces []guest.FilePiece) (*guest.FileReply, error) {
	var found []string
	right := true
	for _, p := range pieces {
		fi, err := o.tree.Stat(p.Path)
		if err != nil {
			right = false
			continue
		}
		found = append(found, strconv.FormatInt(fi.Size(), 10))
		right = right && fi.Size() == p.Size
	}
	if !right {
		return status(guest.FileWrongSize, found...), nil
	}
	return nil, nil
}

// commit makes the stage the file that r names; the stage is gone afterwards.
func (o *fileOps) commit(r *guest.FileCommit, stage string) (*guest.FileReply, error) {
	defer o.tree.Remove(stage) // there is none if it was moved
	at, err := o.tree.resolve(r.Path, true)
	if errors.Is(err, errTooManyLinks) {
		return status(guest.FileLoop), nil
	}
	if err != nil {
		return o.done(r.Path, err)
	}
	mode := fs.FileMode(0o644)
	switch fi, err := o.tree.Stat(at); {
	case err == nil && fi.IsDir():
		return status(guest.FileIsDir), nil
	case err == nil && !fi.Mode().IsRegular():
		return status(guest.FileSpecial), nil
	case err == nil:
		mode = fi.Mode()
	}
	if r.Mode >= 0 {
		mode = fileMode(uint32(r.Mode))
	}
	if err := o.tree.MkdirAll(path.Dir(at), 0o755); err != nil {
		return o.done(at, err)
	}
	err = o.tree.Chmod(stage, mode)
	if err == nil {
		err = o.tree.Rename(stage, at)
	}
	if errors.Is(err, errCrossDevice) {
		err = o.tree.copyFile(at, stage, mode)
	}
	return o.done(at, err)
}

func (o *fileOps) mkdir(r *guest.FileMkdir) (*guest.FileReply, error) {
	if fi, err := o.tree.Stat(r.Path); err == nil {
		if fi.IsDir() {
			return ok(), nil
		}
		return status(guest.FileNotDir), nil
	}
	if _, err := o.tree.Lstat(r.Path); err == nil {
		return status(guest.FileNotDir), nil // a link that leads nowhere
	}
	var made []string
	for dir := path.Clean(r.Path); dir != "/"; dir = path.Dir(dir) {
		if _, err := o.tree.Stat(dir); err == nil {
			break
		}
		made = append(made, dir)
	}
	err := o.tree.MkdirAll(r.Path, 0o755)
	for n := 0; n < len(made) && err == nil; n++ { // this process's own mask must not show
		mode := fileMode(uint32(r.Mode))
		if n > 0 {
			mode = mode.Perm() | 0o300
		}
		err = o.tree.Chmod(made[n], mode)
	}
	return o.done(r.Path, err)
}

func (o *fileOps) remove(r *guest.FileRemove) (*guest.FileReply, error) {
	fi, err := o.tree.Lstat(r.Path)
	if err != nil {
		reply, err := o.done(r.Path, err)
		if r.All && reply.Status == guest.FileMissing {
			return ok(), nil
		}
		return reply, err
	}
	if r.All {
		return o.done(r.Path, o.tree.RemoveAll(r.Path))
	}
	if fi.IsDir() {
		if entries, err := o.tree.ReadDir(r.Path); err == nil && len(entries) > 0 {
			return status(guest.FileNotEmpty), nil
		}
	}
	return o.done(r.Path, o.tree.Remove(r.Path))
}

// append writes data at the end of a file, making it.
func (t *Tree) append(name string, data []byte) error {
	f, err := t.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// appendFile writes what the file from holds at the end of the file to.
func (t *Tree) appendFile(to, from string) error {
	r, err := t.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := t.OpenFile(to, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

// copyFile replaces the file to by a copy of from.
func (t *Tree) copyFile(to, from string, mode fs.FileMode) error {
	r, err := t.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = t.Replace(to, r, mode)
	return err
}
