package local

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// upload is the body of an upload. It holds its source to the size that was announced, remembers why reading failed, and reads no more
// once the call is over, although net/http may still want to.
type upload struct {
	r    io.Reader
	size int64 // -1: not known

	mu      sync.Mutex
	n       int64 // handed out
	err     error // of r, or ours
	stopped bool
}

// Read reads from the source.
func (u *upload) Read(p []byte) (int, error) {
	if u.over() {
		return 0, errors.New("the upload is over")
	}
	n, err := u.r.Read(p)
	total := u.count() + int64(n)
	if u.size >= 0 && err == nil && total == u.size {
		// A service that has got all it was promised writes the file, so its last byte waits until it is sure to be the last.
		var more int
		if more, err = lookAhead(u.r); more > 0 {
			total++
		}
	}
	if bad := u.check(total, err); bad != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.err = bad
		return 0, bad
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n = total
	return n, err
}

// check returns why the upload cannot go on with total bytes read and err.
func (u *upload) check(total int64, err error) error {
	switch {
	case err != nil && err != io.EOF:
		return err
	case u.size >= 0 && total > u.size:
		return &uploadError{message: fmt.Sprintf("there is more to write than the %d bytes announced", u.size)}
	case u.size >= 0 && total < u.size && err == io.EOF:
		return &uploadError{message: fmt.Sprintf("there are only %d of the %d bytes announced", total, u.size), cause: io.ErrUnexpectedEOF}
	case total > maxUpload:
		return &uploadError{message: tooLarge(total)}
	}
	return nil
}

// uploadError says that the source is not what was announced.
type uploadError struct {
	message string
	cause   error
}

func (e *uploadError) Error() string { return e.message }

// lookAhead reads one byte more, which there should not be, and returns io.EOF if there is none.
func lookAhead(r io.Reader) (int, error) {
	var one [1]byte
	for range 100 {
		if n, err := r.Read(one[:]); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// stop lets no further read begin.
func (u *upload) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
}

func (u *upload) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stopped
}

// count returns how many bytes have been handed out.
func (u *upload) count() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}

// failure returns why reading failed.
func (u *upload) failure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}
