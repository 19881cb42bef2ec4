package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Remove deletes a state directory with all that is in it, whatever its modes say; links are removed and not followed. A directory
// that does not exist is no error, one in which a machine runs is.
func (g *Guest) Remove(dir string) error {
	clean := filepath.Clean(dir)
	if dir == "" || clean == "." || clean == "/" {
		return &fs.PathError{Op: "remove", Path: dir, Err: unix.EINVAL}
	}
	s, err := openState(clean)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer s.close()
		if listens(s) {
			return fmt.Errorf("remove %s: a machine runs there", dir)
		}
	}
	err = os.RemoveAll(clean)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// An ordinary user cannot empty a directory that denies it, which root of a machine, being that user, may have left.
	if err := unlock(unix.AT_FDCWD, clean); err != nil {
		return err
	}
	return os.RemoveAll(clean)
}

// listens reports whether the machine's socket takes connections. One that does only for a moment belongs to no machine: a process that this one
// is forking for another machine has every descriptor until it executes, the listener among them.
func listens(s *state) bool {
	for range 40 {
		c, err := s.dial()
		if err != nil {
			return false
		}
		c.Close()
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

// unlock makes the directory and those below it writable for their owner.
func unlock(dir int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return err
	}
	if err := chmod(dir, name, st.Mode&0o7777|0o700); err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, n := range names {
		err = errors.Join(err, unlock(fd, n))
	}
	return err
}
