package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// ownerFile is locked by the process that a directory belongs to, for as long as it lives.
const ownerFile = "owner"

// own takes the directory for this process, until it is released. The file gets its name when it is locked, so that nobody finds it unlocked before.
func own(dir string) (release func() error, err error) {
	f, err := os.CreateTemp(dir, ownerFile+"-")
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, ownerFile))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return sync.OnceValue(func() error {
		err := os.Remove(filepath.Join(dir, ownerFile)) // a directory that is kept is not for sweep
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, f.Close())
	}), nil
}

// sweep ends and removes what hosts have left that were killed: machines outlive the process that made them, and nobody else would ever
// end these. What cannot be removed is left for the next.
func sweep(tmp string) {
	dirs, err := filepath.Glob(filepath.Join(tmp, dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR, 0)
		if err != nil {
			continue // another user's, one that is just being made, or none of ours
		}
		if orphaned(f) {
			g := sandbox.New(nil)
			if eachState(dir, func(state string) error { return end(g, state) }) == nil && eachState(dir, g.Remove) == nil {
				os.RemoveAll(dir)
			}
		}
		f.Close()
	}
}

// orphaned reports whether the owner is gone without having released the directory, and takes the lock.
func orphaned(owner *os.File) bool {
	if unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	was, err := owner.Stat()
	if err != nil {
		return false
	}
	is, err := os.Stat(owner.Name())
	return err == nil && os.SameFile(was, is) // else it was released since it was opened
}
