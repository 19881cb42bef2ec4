package rest

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/smol-machines/smol-go/smol"
)

// Upload is the body of an upload. It holds its source to the size that was announced, remembers why reading failed, and reads no more
// once the call is over, although net/http may still want to.
type Upload struct {
	r          io.Reader
	size, most int64

	mu      sync.Mutex
	n       int64 // handed out
	err     error // of r, or ours
	stopped bool
}

// NewUpload returns a body that reads size bytes (-1: not known before) of r, and at most most (0: no limit).
func NewUpload(r io.Reader, size, most int64) *Upload { return &Upload{r: r, size: size, most: most} }

// Read reads from the source.
func (u *Upload) Read(p []byte) (int, error) {
	if u.over() {
		return 0, errors.New("the upload is over")
	}
	n, err := u.r.Read(p)
	total := u.Count() + int64(n)
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
func (u *Upload) check(total int64, err error) error {
	switch {
	case err != nil && err != io.EOF:
		return err
	case u.size >= 0 && total > u.size:
		return &uploadError{message: fmt.Sprintf("there is more to write than the %d bytes announced", u.size)}
	case u.size >= 0 && total < u.size && err == io.EOF:
		return &uploadError{message: fmt.Sprintf("there are only %d of the %d bytes announced", total, u.size), cause: io.ErrUnexpectedEOF}
	case u.most > 0 && total > u.most:
		return &uploadError{message: tooLarge(total, u.most)}
	}
	return nil
}

// TooLarge returns the refusal of a size that is known to be above the limit, or nil.
func (u *Upload) TooLarge() error {
	if u.most > 0 && u.size > u.most {
		return &smol.Error{Code: smol.CodeInvalid, Message: tooLarge(u.size, u.most)}
	}
	return nil
}

func tooLarge(size, most int64) string {
	return fmt.Sprintf("file of %d bytes is too large for one upload, which carries %d", size, most)
}

// Empty reads the source where nothing is to be sent, since net/http does not look at a body of no length, and returns why it is not
// empty.
func (u *Upload) Empty() error {
	if _, err := u.Read(make([]byte, 1)); err != io.EOF {
		return u.Failure()
	}
	return nil
}

// Stop lets no further read begin.
func (u *Upload) Stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
}

func (u *Upload) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stopped
}

// Count returns how many bytes have been handed out.
func (u *Upload) Count() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}

// Failure says that what was to be uploaded could not be read, or is not what was announced. It is nil if all went well.
func (u *Upload) Failure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err == nil {
		return nil
	}
	var own *uploadError
	if errors.As(u.err, &own) {
		return &smol.Error{Code: smol.CodeInvalid, Message: own.message, Err: own.cause}
	}
	return &smol.Error{Code: smol.CodeUnknown, Message: "reading what is to be written: " + u.err.Error(), Err: u.err}
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
