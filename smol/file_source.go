package smol

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// source is what is to be written into a machine: a reader of which pieces are taken, one after the other.
type source struct {
	r      io.Reader
	left   int64        // how many bytes are still to be read; negative: not known
	rewind func() error // goes back to the beginning; nil: cannot
	ahead  []byte       // at most one byte that was read to see whether there is more
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
	if seeker, ok := r.(io.Seeker); ok && seekable(r) {
		s.useSeeker(seeker)
	} else if sized, ok := r.(interface{ Len() int }); ok && s.left < 0 {
		s.left = int64(sized.Len())
	}
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
		_, err := r.Seek(here, io.SeekStart)
		s.left, s.ahead = size, nil
		return err
	}
	if rewind() == nil {
		s.rewind = rewind
	}
}

// next returns the next piece, of at most limit bytes, and its size, or -1 if that is not known.
func (s *source) next(limit int64) (*piece, int64) {
	size := int64(-1)
	if s.left >= 0 {
		size = min(s.left, limit)
		limit = size
	}
	return &piece{src: s, left: limit, short: size >= 0}, size
}

// more reports whether there is another piece. It reads a byte ahead if the size is not known.
func (s *source) more() (bool, error) {
	if s.left >= 0 || len(s.ahead) > 0 {
		return s.left != 0, nil
	}
	b := make([]byte, 1)
	_, err := io.ReadFull(s.r, b)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, readError(err)
	}
	s.ahead = b
	return true, nil
}

func (s *source) read(p []byte) (int, error) {
	if len(s.ahead) > 0 && len(p) > 0 {
		n := copy(p, s.ahead)
		s.ahead = nil
		return n, nil
	}
	return s.r.Read(p)
}

// readError says that it was the caller's reader that failed.
func readError(err error) error {
	return &Error{Code: CodeUnknown, Message: "reading what is to be written: " + plainText(err), Err: err}
}

// piece is the reader of a part of a source. HTTP clients may go on reading a body after the call that it was for has returned; a piece
// that has been ended takes no more from its source, except for a read that is under way.
type piece struct {
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
	n, err := p.src.read(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < 0 || n > len(b) {
		n, err = 0, fmt.Errorf("the reader says that it read %d of %d bytes", n, len(b))
	}
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
		more, failed := p.src.more()
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
