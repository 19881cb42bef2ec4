package smol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// source is what is to be written into a machine: a reader of which pieces are taken, one after the other.
type source struct {
	r      io.Reader
	left   int64        // how many bytes are still to be taken; negative: not known
	rewind func() error // goes back to the beginning; nil: cannot
	quick  bool         // reading r never takes long

	// A reader that can block is read on a goroutine, so that a context can end the wait for it.
	buf     []byte
	reading chan readResult // a read that is under way
	unread  int64           // how many bytes may still be read from r, if left is known
	have    []byte          // read and not yet taken
	err     error           // comes after what was read
}

// sourceBuffer is how much is read at once on the goroutine, so that handing it over costs little.
const sourceBuffer = 256 << 10

type readResult struct {
	n   int
	err error
}

// newSource finds out the size of what r holds, if that can be had without reading.
func newSource(r io.Reader, size int64) (*source, error) {
	if r == nil {
		return nil, invalidf("r", "is nil; give a reader, such as strings.NewReader(\"\") for an empty file")
	}
	if size < 0 {
		return nil, invalidf("WriteOptions.Size", "is negative")
	}
	s := &source{r: r, left: -1}
	if size > 0 {
		s.left = size
	}
	seeks := seekable(r)
	switch r.(type) {
	case *bytes.Reader, *strings.Reader, *bytes.Buffer:
		s.quick = true
	case *os.File:
		s.quick = seeks
	}
	if seeker, ok := r.(io.Seeker); ok && seeks {
		s.useSeeker(seeker)
	} else if sized, ok := r.(interface{ Len() int }); ok && s.left < 0 {
		s.left = int64(sized.Len())
	}
	s.unread = s.left
	return s, nil
}

// seekable reports whether the size of r that seeking tells is true: devices, pipes and the files of /proc tell others.
func seekable(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

func (s *source) useSeeker(r io.Seeker) {
	here, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return
	}
	size := s.left
	if size < 0 {
		end, err := r.Seek(0, io.SeekEnd)
		if err != nil {
			return
		}
		size = max(end-here, 0)
	}
	rewind := func() error {
		if s.reading != nil {
			return errPieceEnded
		}
		_, err := r.Seek(here, io.SeekStart)
		s.left, s.unread, s.have, s.err = size, size, nil, nil
		return err
	}
	if rewind() == nil {
		s.rewind = rewind
	}
}

// next returns the next piece, of at most limit bytes, and its size, or -1 if that is not known. It can be read as long as ctx lasts.
func (s *source) next(ctx context.Context, limit int64) (*piece, int64) {
	size := int64(-1)
	if s.left >= 0 {
		size = min(s.left, limit)
		limit = size
	}
	return &piece{ctx: ctx, src: s, left: limit, short: size >= 0}, size
}

// more reports whether there is another piece. It reads ahead if the size is not known.
func (s *source) more(ctx context.Context) (bool, error) {
	if s.left >= 0 {
		return s.left > 0, nil
	}
	for tries := 0; len(s.have) == 0 && s.err == nil; tries++ {
		if err := s.fill(ctx); err != nil {
			return false, err
		}
		if tries == 100 {
			s.err = io.ErrNoProgress
		}
	}
	switch {
	case len(s.have) > 0:
		return true, nil
	case s.err == io.EOF:
		return false, nil
	}
	return false, readError(s.err)
}

// read reads some of the source.
func (s *source) read(ctx context.Context, p []byte) (int, error) {
	if s.quick && len(s.have) == 0 && s.err == nil {
		return s.r.Read(p)
	}
	if len(s.have) == 0 && s.err == nil {
		if err := s.fill(ctx); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.have)
	s.have = s.have[n:]
	if len(s.have) > 0 {
		return n, nil
	}
	return n, s.err
}

// fill waits for something to take. Its error is that of ctx.
func (s *source) fill(ctx context.Context) error {
	if s.reading == nil {
		if s.buf == nil {
			s.buf = make([]byte, sourceBuffer)
		}
		buf := s.buf
		if s.left >= 0 {
			buf = buf[:min(int64(len(buf)), s.unread)]
		}
		done := make(chan readResult, 1)
		s.reading = done
		go func() {
			res := readResult{err: errGoexit}
			defer func() {
				if p := recover(); p != nil {
					res = readResult{err: &readerPanic{p}}
				}
				done <- res
			}()
			n, err := s.r.Read(buf)
			if n < 0 || n > len(buf) {
				n, err = 0, fmt.Errorf("the reader says that it read %d of %d bytes", n, len(buf))
			}
			res = readResult{n, err}
		}()
	}
	select {
	case r := <-s.reading:
		s.reading = nil
		s.have, s.err = s.buf[:r.n], r.err
		s.unread -= int64(r.n)
		return nil
	case <-ctx.Done():
		return cause(ctx)
	}
}

// readError says that it was the caller's reader that failed.
func readError(err error) error {
	return &Error{Code: CodeUnknown, Message: "reading what is to be written: " + plainText(err), Err: err}
}

// piece is the reader of a part of a source. HTTP clients may go on reading a body after the call that it was for has returned; a piece
// that has been ended takes no more from its source, except for a read that is under way.
type piece struct {
	ctx   context.Context // bounds the reading, which happens within one call
	src   *source
	short bool // that there is less than left is an error
	// exceeds is the error if the source has more than the piece. Nil: the rest is for another piece.
	exceeds error

	mu    sync.Mutex
	left  int64
	n     int64
	last  bool // the source has no more
	err   error
	ended bool
}

var errPieceEnded = errors.New("the upload is over")

// Read reads from the source up to the end of the piece.
func (p *piece) Read(b []byte) (int, error) {
	p.mu.Lock()
	b = b[:min(int64(len(b)), p.left)]
	done, err := p.left == 0 || p.last, p.err
	if p.ended {
		err = errPieceEnded
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case done:
		return 0, p.atEnd()
	}
	n, err := p.src.read(p.ctx, b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += int64(n)
	p.left -= int64(n)
	switch {
	case err == io.EOF && p.short && p.left > 0:
		p.err = &Error{Code: CodeInvalid, Err: io.ErrUnexpectedEOF, Message: fmt.Sprintf("the reader ended %d bytes before the size it should have", p.left)}
	case err == io.EOF:
		p.last = true
	case err != nil:
		p.err = readError(err)
	}
	if p.err != nil {
		return n, p.err
	}
	if p.last {
		return n, io.EOF
	}
	return n, nil
}

// atEnd returns io.EOF, unless there is more where there must not be.
func (p *piece) atEnd() error {
	err := io.EOF
	if p.exceeds != nil {
		more, failed := p.src.more(p.ctx)
		switch {
		case failed != nil:
			err = failed
		case more:
			err = p.exceeds
		default:
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = err
	}
	return err
}

// end ends the piece and returns how many bytes of it were read, whether the source has no more, and why reading failed.
func (p *piece) end() (n int64, last bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.src.left >= 0 {
		p.src.left -= p.n
	}
	return p.n, p.last, p.err
}

// readerPanic is the panic of a reader or file system of the caller's on a goroutine of ours.
type readerPanic struct{ value any }

func (p *readerPanic) Error() string { return fmt.Sprintf("the reader panicked: %v", p.value) }

// passPanic goes on, on the goroutine of the caller, with the panic that err tells of.
func passPanic(err error) {
	var p *readerPanic
	if errors.As(err, &p) {
		panic(p.value)
	}
}
