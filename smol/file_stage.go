package smol

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

const (
	// pieceSize is the size of the pieces in which large content goes. It bounds what a failure costs and what the machine stores twice.
	pieceSize = 64 << 20
	// smallPiece is the size of pieces where larger ones are known to get lost.
	smallPiece = 1 << 20
	// pieceBatch is how many pieces are joined at a time.
	pieceBatch = 16
	// argPiece is how much goes in an argument of a command, on a fleet without another way. Base64 makes it a third more.
	argPiece = 48 << 10
)

// stage is content on its way into the machine, as files that nobody else knows.
type stage struct {
	o      *fileOp
	prefix string // of the path of each of its files
	limit  int64  // most bytes of one upload
	single int64  // most bytes that go as one upload when their number is known
	used   int    // how many files there have been
	whole  guest.FilePiece
	rest   []guest.FilePiece // follow whole and are not joined to it yet
	// noFiles: the fleet has said at the first upload that it moves no files, and nothing of the source is lost.
	noFiles bool
}

// newStage returns an empty stage. With small it is filled as if nothing could be trusted.
func (o *fileOp) newStage(ctx context.Context, small bool) (*stage, error) {
	base, err := o.base(ctx)
	if err != nil {
		return nil, err
	}
	t := o.m.fleet.traits
	s := &stage{o: o, prefix: stagePrefix(base), limit: pieceSize, single: t.MaxUpload}
	if !within(base, "/workspace") && t.MaxBlindUpload > 0 {
		s.single = t.MaxBlindUpload
	}
	if small {
		s.single = smallPiece
	}
	if s.single <= 0 {
		s.single = 1 << 62
	}
	s.limit = min(s.limit, s.single)
	return s, nil
}

// fill moves all of src into the machine.
func (s *stage) fill(ctx context.Context, src *source) error {
	b, ok := find[FileBackend](s.o.m.fleet.backend)
	if !ok {
		return s.fillByExec(ctx, src)
	}
	size := s.limit
	if src.left >= 0 && src.left <= s.single {
		size = s.single
	}
	for {
		last, err := s.upload(ctx, b, src, size)
		if s.noFiles {
			return s.fillByExec(ctx, src)
		}
		if err != nil {
			return s.o.wrap(err)
		}
		if last {
			return nil
		}
		if len(s.rest) >= pieceBatch || s.pending() >= pieceSize {
			if err := s.join(ctx); err != nil {
				return err
			}
		}
	}
}

// upload moves one piece and reports whether it was the last.
func (s *stage) upload(ctx context.Context, b FileBackend, src *source, most int64) (last bool, err error) {
	file := guest.FilePiece{Path: s.next()}
	p, size := src.next(ctx, most)
	err = s.o.in(ctx, limit.Ordinary, func(ctx context.Context, id string) error {
		return b.Upload(ctx, id, file.Path, p, size)
	})
	var failed error
	file.Size, last, failed = p.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return false, err
	case failed != nil:
		return false, failed
	case err != nil:
		s.noFiles = s.used == 1 && errors.Is(err, errors.ErrUnsupported) && (file.Size == 0 || src.rewind != nil && src.rewind() == nil)
		return false, err
	case size >= 0 && file.Size != size:
		return false, &Error{Code: CodeInternal, Message: fmt.Sprintf("the service took %d of %d bytes and says that it is done", file.Size, size)}
	}
	if s.used == 1 {
		s.whole = file
	} else {
		s.rest = append(s.rest, file)
	}
	if last {
		return true, nil
	}
	more, err := src.more(ctx)
	return !more, err
}

// fillByExec moves the content in arguments of commands: slow, and right on every fleet.
func (s *stage) fillByExec(ctx context.Context, src *source) error {
	s.whole = guest.FilePiece{Path: s.next()}
	buf := make([]byte, argPiece)
	for last := false; !last; {
		p, _ := src.next(ctx, argPiece)
		n, err := io.ReadFull(p, buf)
		_, end, failed := p.end()
		if failed != nil {
			return s.o.wrap(failed)
		}
		if last = end || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF); !last {
			more, err := src.more(ctx)
			if err != nil {
				return s.o.wrap(err)
			}
			last = !more
		}
		if _, err := s.o.exec(ctx, &guest.FileAppend{Stage: s.whole.Path, Data: buf[:n]}); err != nil {
			return err
		}
		s.whole.Size += int64(n)
	}
	return nil
}

func (s *stage) next() string {
	s.used++
	return fmt.Sprint(s.prefix, s.used)
}

func (s *stage) pending() int64 {
	var n int64
	for _, p := range s.rest {
		n += p.Size
	}
	return n
}

// join makes one file of what has been uploaded so far.
func (s *stage) join(ctx context.Context) error {
	_, err := s.o.exec(ctx, &guest.FileJoin{Pieces: s.pieces()})
	s.whole.Size += s.pending()
	s.rest = nil
	return err
}

// pieces returns the files of the stage in order.
func (s *stage) pieces() []guest.FilePiece { return append([]guest.FilePiece{s.whole}, s.rest...) }

// finish carries out the request that uses the stage up. The machine removes the files whatever it answers; only if it does not answer
// they are removed here.
func (s *stage) finish(ctx context.Context, req guest.FileRequest) error {
	reply, err := s.o.exec(ctx, req)
	if reply == nil {
		s.o.dropLate(ctx, s.prefix)
	}
	return err
}

// drop removes what has been uploaded.
func (s *stage) drop(ctx context.Context) {
	if s.used > 0 {
		s.o.drop(ctx, s.prefix)
	}
}
