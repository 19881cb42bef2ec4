package serve

import (
	"errors"
	"os"
	"time"
)

// fileLock is a lock on a file, which the system releases when the process ends.
type fileLock struct{ f *os.File }

var errLocked = errors.New("another program holds it")

// tryLock returns nil if another holds a lock on path that excludes this one. The file is made, and never removed: a lock on a file that is
// gone would exclude nobody.
func tryLock(path string, exclusive bool) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(f, exclusive)
	if err != nil || !held {
		return nil, errors.Join(err, f.Close())
	}
	return &fileLock{f}, nil
}

// acquire waits for the exclusive lock, until done is closed or limit is over.
func acquire(done <-chan struct{}, limit time.Duration, path string) (*fileLock, error) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		l, err := tryLock(path, true)
		if l != nil || err != nil {
			return l, err
		}
		next := time.NewTimer(wait)
		select {
		case <-next.C:
		case <-end.C:
			next.Stop()
			return nil, errLocked
		case <-done:
			next.Stop()
			return nil, errLocked
		}
	}
}

// release gives the lock back. It unlocks before it closes: a child that is between fork and exec still has the file open.
func (l *fileLock) release() {
	if l != nil {
		unlockFile(l.f)
		_ = l.f.Close()
	}
}
