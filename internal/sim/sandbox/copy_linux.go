package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Copy copies the disks of the state directory src to dst, which it makes: names, contents with their holes, modes, owners, times,
// symbolic and hard links. It leaves out sockets and extended attributes. If it fails or is cancelled, dst is removed.
func (g *Guest) Copy(ctx context.Context, dst, src string) error {
	from, err := openState(src)
	if err != nil {
		return err
	}
	defer from.close()
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	err = copyDisks(ctx, dst, from)
	if err != nil {
		err = errors.Join(fmt.Errorf("copy %s: %w", src, err), g.Remove(dst))
	}
	return err
}

func copyDisks(ctx context.Context, dst string, from *state) error {
	to, err := openState(dst)
	if err != nil {
		return err
	}
	defer to.close()
	return from.control(func(src int) error {
		return to.control(func(dst int) error {
			for _, disk := range []string{rootName, workspaceName} {
				if unix.Faccessat(src, disk, unix.F_OK, 0) == unix.ENOENT {
					continue // it has never been started
				}
				c := &copier{ctx: ctx, top: dst, links: map[inode]string{}}
				if err := c.entry(src, dst, disk, ""); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	})
}

// copier copies one tree. It goes from directory to directory by descriptor and follows no link, as a guest made the tree.
type copier struct {
	ctx context.Context
	// top is where the paths in links begin: the first name under which a file with several names was copied.
	top   int
	links map[inode]string
}

type inode struct{ dev, ino uint64 }

// entry copies one name of the directory src to the directory dst, whose own path is dir.
func (c *copier) entry(src, dst int, name, dir string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(src, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: path.Join(dir, name), Err: err}
	}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = c.directory(src, dst, name, path.Join(dir, name), &st)
	case unix.S_IFREG:
		var linked bool
		if linked, err = c.link(dst, name, path.Join(dir, name), &st); linked {
			return nil
		}
		if err == nil {
			err = c.file(src, dst, name, &st)
		}
	case unix.S_IFLNK:
		err = copySymlink(src, dst, name)
	case unix.S_IFIFO:
		err = unix.Mknodat(dst, name, unix.S_IFIFO|0o600, 0)
	default:
		return nil // a socket, which nobody listens on in the copy
	}
	if err == nil {
		err = c.attributes(dst, name, &st)
	}
	if _, plain := err.(unix.Errno); plain {
		err = &os.PathError{Op: "copy", Path: path.Join(dir, name), Err: err}
	}
	return err
}

func (c *copier) directory(src, dst int, name, dir string, st *unix.Stat_t) error {
	from, restore, err := openDir(src, name, st)
	if err != nil {
		return err
	}
	defer restore()
	defer from.Close()
	if err := unix.Mkdirat(dst, name, 0o700); err != nil {
		return err
	}
	fd, err := unix.Openat(dst, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	names, err := from.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := c.entry(int(from.Fd()), fd, n, dir); err != nil {
			return err
		}
	}
	return nil
}

// link makes another name for a file that has been copied already.
func (c *copier) link(dst int, name, full string, st *unix.Stat_t) (bool, error) {
	if st.Nlink < 2 {
		return false, nil
	}
	key := inode{uint64(st.Dev), st.Ino}
	first, ok := c.links[key]
	if !ok {
		c.links[key] = full
		return false, nil
	}
	return true, unix.Linkat(c.top, first, dst, name, 0)
}

func copySymlink(src, dst int, name string) error {
	to := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(src, name, to)
	if err != nil {
		return err
	}
	return unix.Symlinkat(string(to[:n]), dst, name)
}

// attributes gives the copy the owner, mode and times of the original, in that order: a new owner takes mode bits away.
func (c *copier) attributes(dst int, name string, st *unix.Stat_t) error {
	if os.Geteuid() == 0 {
		if err := unix.Fchownat(dst, name, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Fchmodat(dst, name, st.Mode&0o7777, 0); err != nil {
			return err
		}
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	return unix.UtimesNanoAt(dst, name, times, unix.AT_SYMLINK_NOFOLLOW)
}
