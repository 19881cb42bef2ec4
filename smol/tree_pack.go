package smol

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// packTree returns the tree as a stream that is made as it is read. stop ends the packing; it waits for that as long as ctx lasts, since a file
// system can block.
func packTree(ctx context.Context, fsys fs.FS, opts *CopyOptions) (archive io.Reader, stop func()) {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := error(errGoexit)
		defer func() {
			if p := recover(); p != nil {
				err = &readerPanic{p}
			}
			w.CloseWithError(err)
		}()
		p := &packer{ctx: ctx, fsys: fsys, skip: opts.SkipSpecial, now: time.Now().Truncate(time.Second)}
		err = p.pack(w)
	}()
	return r, func() {
		r.CloseWithError(errPieceEnded)
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}

// packer writes a tree as a tar archive. It uses GNU's form, since busybox reads no long names in the form of POSIX.
type packer struct {
	ctx  context.Context
	fsys fs.FS
	skip bool
	now  time.Time // for what has no time of its own
	tw   *tar.Writer
	// closed are directories that cannot be filled with the mode they have. They get it when everything else is there.
	closed []*tar.Header
}

func (p *packer) pack(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 64<<10)
	p.tw = tar.NewWriter(buf)
	if err := fs.WalkDir(p.fsys, ".", p.entry); err != nil {
		return err
	}
	for i := len(p.closed) - 1; i >= 0; i-- {
		if err := p.tw.WriteHeader(p.closed[i]); err != nil {
			return err
		}
	}
	if err := p.tw.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

// entry packs one file.
func (p *packer) entry(name string, d fs.DirEntry, err error) error {
	if err == nil {
		err = context.Cause(p.ctx)
	}
	if err != nil {
		return err
	}
	if name == "." {
		if !d.IsDir() {
			return &fs.PathError{Op: "copy", Path: name, Err: errors.New("not a directory")}
		}
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch t := info.Mode().Type(); {
	case t.IsDir():
		return p.directory(name, info)
	case t.IsRegular():
		return p.file(name)
	case t == fs.ModeSymlink:
		return p.link(name, info)
	case p.skip:
		return nil
	default:
		return &fs.PathError{Op: "copy", Path: name, Err: fmt.Errorf("cannot copy what has mode %v; set CopyOptions.SkipSpecial to leave it out", info.Mode())}
	}
}

// header returns the header of a file, with a mode if its file system tells none.
func (p *packer) header(name string, info fs.FileInfo, kind byte, mode fs.FileMode) *tar.Header {
	if info.Mode().Perm() != 0 {
		mode = info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	}
	bits, _ := modeBits("", mode) // it has no other bits
	when := info.ModTime().Truncate(time.Second)
	if when.IsZero() {
		when = p.now
	}
	return &tar.Header{Name: name, Typeflag: kind, Mode: int64(bits), ModTime: when, Format: tar.FormatGNU}
}

func (p *packer) directory(name string, info fs.FileInfo) error {
	h := p.header(name+"/", info, tar.TypeDir, 0o755)
	if h.Mode&0o700 != 0o700 {
		again := *h
		p.closed = append(p.closed, &again)
		h.Mode |= 0o700
	}
	return p.tw.WriteHeader(h)
}

func (p *packer) link(name string, info fs.FileInfo) error {
	target, err := fs.ReadLink(p.fsys, name)
	if err != nil {
		if p.skip {
			return nil
		}
		return err
	}
	h := p.header(name, info, tar.TypeSymlink, 0o777)
	h.Linkname = target
	return p.tw.WriteHeader(h)
}

func (p *packer) file(name string) (err error) {
	f, err := p.fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "copy", Path: name, Err: errors.New("the file was replaced while it was copied")}
	}
	h := p.header(name, info, tar.TypeReg, 0o644)
	h.Size = info.Size()
	if err := p.tw.WriteHeader(h); err != nil {
		return err
	}
	// A file that grows is copied up to the size it had.
	n, err := io.Copy(p.tw, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = &fs.PathError{Op: "copy", Path: name, Err: fmt.Errorf("the file became shorter while it was copied: %w", io.ErrUnexpectedEOF)}
	}
	return err
}
