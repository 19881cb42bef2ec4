package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// copyChunk is how much of a file is copied between two looks at the context.
const copyChunk = 8 << 20

// file copies the contents of a regular file.
func (c *copier) file(src, dst int, name string, st *unix.Stat_t) error {
	from, restore, err := openReadable(src, name, unix.O_RDONLY, 0o400, st)
	if err != nil {
		return err
	}
	defer restore()
	defer from.Close()
	fd, err := unix.Openat(dst, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), name)
	if unix.IoctlFileClone(fd, int(from.Fd())) == nil {
		return to.Close() // shared by the file system until one of the two is changed
	}
	err = c.data(to, from, st.Size)
	if err == nil {
		err = to.Truncate(st.Size)
	}
	return errors.Join(err, to.Close())
}

// data copies what is not a hole: a file of a terabyte is easily made, and has nothing in it.
func (c *copier) data(to, from *os.File, size int64) error {
	for at := int64(0); at < size; {
		start, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole is left
		}
		if err != nil {
			return os.NewSyscallError("seek", err)
		}
		end, err := unix.Seek(int(from.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return os.NewSyscallError("seek", err)
		}
		if at, err = c.extent(to, from, start, end); err != nil {
			return err
		}
		if at < end {
			return nil // it has become shorter
		}
	}
	return nil
}

// extent copies from start to end and returns how far it came.
func (c *copier) extent(to, from *os.File, start, end int64) (int64, error) {
	if _, err := from.Seek(start, io.SeekStart); err != nil {
		return start, err
	}
	if _, err := to.Seek(start, io.SeekStart); err != nil {
		return start, err
	}
	for start < end {
		if err := c.ctx.Err(); err != nil {
			return start, err
		}
		n, err := io.CopyN(to, from, min(end-start, copyChunk))
		start += n
		if errors.Is(err, io.EOF) {
			return start, nil
		}
		if err != nil {
			return start, err
		}
	}
	return start, nil
}

// openDir opens a directory so that what is in it can be reached.
func openDir(dir int, name string, st *unix.Stat_t) (*os.File, func(), error) {
	return openReadable(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0o500, st)
}

// openReadable opens a file although its mode may deny that to its owner: root of a machine does not mind modes, but an ordinary
// user on the host, who that root is, does. The function returned puts the mode back.
func openReadable(dir int, name string, flags int, need uint32, st *unix.Stat_t) (*os.File, func(), error) {
	restore := func() {}
	if mode := st.Mode & 0o7777; os.Geteuid() != 0 && mode&need != need {
		if err := chmod(dir, name, mode|need); err != nil {
			return nil, nil, err
		}
		restore = func() { chmod(dir, name, mode) }
	}
	fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		restore()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), name), restore, nil
}

// chmod changes the mode of what name is, and not of what it is a link to.
func chmod(dir int, name string, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode) // a descriptor like this has no fchmod
}
