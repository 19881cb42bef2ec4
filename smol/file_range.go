package smol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/smol-machines/smol-go/internal/guest"
)

const (
	// inlineRange is how much of a file comes with a command's reply. The wire carries it in two forms, one of which is up to six times as long.
	inlineRange = 256 << 10
	// stagedRange is how much of a file is cut at a time into a file of its own.
	stagedRange = 64 << 20
)

// openRange opens a part of the file, cut out in the machine. A negative length: up to the end.
func (o *fileOp) openRange(ctx context.Context, offset, length int64) (*File, error) {
	c := &cutter{o: o, ctx: ctx, at: offset, end: -1}
	if length >= 0 {
		c.end = offset + length
	}
	f := &File{o: o, ctx: ctx, body: c, size: -1}
	if err := c.cut(); err != nil {
		c.Close()
		return nil, err
	}
	if c.sized {
		f.size = c.end - offset
	} else if c.last {
		f.size = c.at - offset
	}
	return f, nil
}

// cutter reads a part of a file piece by piece.
type cutter struct {
	o   *fileOp
	ctx context.Context
	// at is where the next piece begins, end where the last one ends; -1: at the end of a file whose size is not known.
	at, end  int64
	sized    bool // the file has a size, and end does not lie behind it
	last     bool // there is no piece after this one
	identity string
	inline   bool   // the fleet moves no files
	prefix   string // of the stage; "" as long as there is none
	staged   bool   // something may lie in the stage
	piece    io.ReadCloser
	left     int64 // of the piece
}

// Read reads on, with another piece when one is at its end.
func (c *cutter) Read(p []byte) (int, error) {
	for {
		if c.piece == nil {
			if c.last {
				return 0, io.EOF
			}
			if err := c.cut(); err != nil {
				return 0, err
			}
		}
		n, err := c.piece.Read(p)
		c.left -= int64(n)
		if err == io.EOF {
			if c.left != 0 {
				return n, &Error{Code: CodeUnavailable, Err: io.ErrUnexpectedEOF, Message: fmt.Sprintf("a piece lacks %d bytes", c.left)}
			}
			err = c.closePiece()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (c *cutter) closePiece() error {
	if c.piece == nil {
		return nil
	}
	err := c.piece.Close()
	c.piece = nil
	return err
}

// Close removes what was cut.
func (c *cutter) Close() error {
	err := c.closePiece()
	c.last = true
	if c.staged {
		c.o.drop(c.ctx, c.prefix)
		c.staged = false
	}
	return err
}

// cut makes the next piece.
func (c *cutter) cut() error {
	req := &guest.FileCut{Path: c.o.path, Offset: c.at, Length: -1, Inline: inlineRange, Window: stagedRange}
	if c.end >= 0 {
		req.Length = c.end - c.at
	}
	b, ok := find[FileBackend](c.o.m.fleet.backend)
	if c.inline = c.inline || !ok; c.inline {
		// Only as much as fits into the reply.
		if req.Length < 0 || req.Length > inlineRange {
			req.Length = inlineRange
		}
	} else if base := c.o.knownBase(); base != "" {
		req.Stage = c.stage(base)
	}
	reply, err := c.exec(req)
	if err == nil && reply.Status == guest.FileBig {
		var base string
		if base, err = c.o.base(c.ctx); err != nil {
			return err
		}
		req.Stage = c.stage(base)
		reply, err = c.exec(req)
	}
	if err != nil {
		return err
	}
	return c.take(b, req, reply)
}

func (c *cutter) exec(req *guest.FileCut) (*guest.FileReply, error) {
	reply, err := c.o.exec(c.ctx, req)
	if req.Stage != "" && (reply == nil || reply.Status != guest.FileOK) {
		c.staged = true
	}
	return reply, err
}

// stage returns the path for pieces.
func (c *cutter) stage(base string) string {
	if c.prefix == "" {
		c.prefix = stagePrefix(base)
	}
	return c.prefix + "1"
}

// take makes the reply to a cut the piece to read.
func (c *cutter) take(b FileBackend, req *guest.FileCut, reply *guest.FileReply) error {
	cut, err := reply.Cut()
	if err != nil {
		return c.o.wrap(unreadable(err))
	}
	if c.identity != "" && c.identity != cut.Identity {
		return c.o.wrap(&Error{Code: CodeConflict, Message: "the file was replaced while it was read"})
	}
	if c.identity == "" && cut.Size > 0 {
		c.sized = true
		if c.end < 0 || c.end > cut.Size {
			c.end = max(cut.Size, req.Offset)
		}
	}
	c.identity = cut.Identity
	c.at += cut.Length
	c.left = cut.Length
	switch {
	case c.sized:
		c.last = c.at >= c.end
		if cut.Length == 0 && !c.last {
			return c.o.wrap(&Error{Code: CodeUnavailable, Err: io.ErrUnexpectedEOF, Message: "the file became shorter while it was read"})
		}
	default:
		c.last = cut.Length < inlineRange || c.end >= 0 && c.at >= c.end
	}
	if reply.Status != guest.FileStaged {
		c.piece = io.NopCloser(bytes.NewReader(reply.Body))
		return nil
	}
	staged := &fileOp{m: c.o.m, name: c.o.name, path: req.Stage, reads: true, visit: c.o.visit}
	body, size, err := staged.download(c.ctx, b)
	if errors.Is(err, errors.ErrUnsupported) && !c.inline {
		c.inline = true
		c.at -= cut.Length
		return c.cut()
	}
	if err != nil {
		return c.o.wrap(err)
	}
	if size >= 0 && size != cut.Length {
		body.Close()
		return c.o.wrap(&Error{Code: CodeInternal, Message: fmt.Sprintf("a piece has %d bytes and not %d", size, cut.Length), Err: errWrongSize})
	}
	c.piece = body
	return nil
}
