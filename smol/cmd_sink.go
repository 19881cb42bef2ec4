package smol

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/smol-machines/smol-go/internal/guest"
)

const (
	// unwanted is an offset that no stream reaches.
	unwanted = math.MaxInt64 / 2
	// writeSize is how much is written to a caller's writer at once; between two writes the end of the context is seen.
	writeSize = 64 << 10
	// clipSize is how many of the first and of the last bytes of standard error go into an ExitError.
	clipSize = 16 << 10
)

// sink is where a stream of a command goes.
type sink struct {
	w    io.Writer
	next int64 // the offset wanted next
	err  error // why w takes no more

	clip       bool
	head, tail []byte
	size       int64 // of the whole stream, for clip
}

// newSink returns a sink into w; nil throws the stream away.
func newSink(w io.Writer) *sink {
	s := &sink{w: w}
	if w == nil {
		s.next = unwanted
	}
	return s
}

// newClipSink returns a sink that keeps the first and the last part of the stream.
func newClipSink() *sink { return &sink{clip: true} }

// streams reports whether somebody waits for output while the command runs.
func (s *sink) streams() bool { return s.w != nil && s.err == nil }

// accept takes a piece of the stream, of which size bytes exist so far. Only the end of ctx is an error.
func (s *sink) accept(ctx context.Context, part *guest.Part, size int64) error {
	s.size = size
	skip := s.next - part.Offset
	if s.next >= unwanted || skip >= int64(len(part.Data)) {
		return nil // a start that found its command running gives the output from its beginning
	}
	if skip < 0 || part.Dropped != 0 {
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("output is missing from byte %d on", s.next)}
	}
	data := part.Data[skip:]
	if s.clip {
		s.keep(data, size)
		return nil
	}
	for len(data) > 0 && s.err == nil {
		if ctx.Err() != nil {
			return cause(ctx)
		}
		piece := data[:min(len(data), writeSize)]
		n, err := s.w.Write(piece)
		if err == nil && n != len(piece) {
			err = io.ErrShortWrite
		}
		data = data[len(piece):]
		s.next += int64(len(piece))
		if err != nil {
			s.err, s.next = &writerError{err}, unwanted
		}
	}
	return nil
}

// keep keeps the first and the last bytes, and leaves out of what is wanted next what would be dropped anyway.
func (s *sink) keep(data []byte, size int64) {
	s.next += int64(len(data))
	n := min(len(data), clipSize-len(s.head))
	s.head = append(s.head, data[:n]...)
	s.tail = append(s.tail, data[n:]...)
	if over := len(s.tail) - clipSize; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	if last := size - clipSize; s.next < last {
		s.next, s.tail = last, s.tail[:0]
	}
}

// clipped returns what was kept, with a note of what was not.
func (s *sink) clipped() []byte {
	missing := s.size - int64(len(s.head)+len(s.tail))
	if len(s.tail) == 0 || missing <= 0 {
		return append(s.head, s.tail...)
	}
	note := fmt.Sprintf("\n... %d bytes left out ...\n", missing)
	return append(append(s.head, note...), s.tail...)
}

// writerError is the failure of a caller's writer, which the caller knows and gets as it is.
type writerError struct{ err error }

func (e *writerError) Error() string { return e.err.Error() }
func (e *writerError) Unwrap() error { return e.err }
