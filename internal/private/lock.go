package private

import (
	"errors"
	"os"
	"time"
)

// Lock is a lock on a file, which the system releases when the process ends, however that comes about.
type Lock struct{ f *os.File }

// ErrLocked is what Acquire returns when it gave up.
var ErrLocked = errors.New("another program holds it")

// TryLock returns nil if another holds a lock on path that excludes this one; locks that are not exclusive exclude only exclusive ones. The
// file is made. Two locks of one program exclude each other too.
func TryLock(path string, exclusive bool) (*Lock, error) {
	return tryLock(path, os.O_RDWR|os.O_CREATE, exclusive)
}

// TryExisting is TryLock of a file that is not made: the error matches fs.ErrNotExist if there is none.
func TryExisting(path string, exclusive bool) (*Lock, error) {
	return tryLock(path, os.O_RDWR, exclusive)
}

func tryLock(path string, how int, exclusive bool) (*Lock, error) {
	f, err := os.OpenFile(path, how, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(f, exclusive)
	if err != nil || !held {
		return nil, errors.Join(err, f.Close())
	}
	return &Lock{f}, nil
}

// Acquire waits for the exclusive lock, until done is closed or limit is over; the error is ErrLocked then.
func Acquire(done <-chan struct{}, limit time.Duration, path string) (*Lock, error) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		l, err := TryLock(path, true)
		if l != nil || err != nil {
			return l, err
		}
		next := time.NewTimer(wait)
		select {
		case <-next.C:
		case <-end.C:
			next.Stop()
			return nil, ErrLocked
		case <-done:
			next.Stop()
			return nil, ErrLocked
		}
	}
}

// Release gives the lock back; of nil it does nothing. The file stays, for a lock on a file that is gone would exclude nobody. It unlocks
// before it closes: a child that is between fork and exec still has the file open.
func (l *Lock) Release() {
	if l != nil {
		unlockFile(l.f)
		_ = l.f.Close()
	}
}
