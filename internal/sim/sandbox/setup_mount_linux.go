package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// directories exist in every machine, with these modes if they are made here.
var directories = []struct {
	path string
	mode uint32
}{
	{"/proc", 0o555},
	{"/dev", 0o755},
	{"/sys", 0o555},
	{"/tmp", 0o1777},
	{"/run", 0o755},
	{"/etc", 0o755},
	{"/home", 0o755},
	{"/root", 0o700},
	{"/usr", 0o755},
	{"/var", 0o755},
	{"/var/tmp", 0o1777},
	{"/workspace", 0o755},
}

// kernelFiles mounts what every machine has.
func (s *setup) kernelFiles() {
	unix.Umask(0)
	for _, d := range directories {
		s.do("make "+d.path, func() error { return makeDir(d.path, d.mode) })
	}
	// While the host's proc is still in this namespace: a second one is allowed only to those who see a first one whole.
	s.mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	s.mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,"+tmpSize)
	s.mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,"+runSize)
	s.devices()
	s.bind("workspace", "/workspace", s.stateFile("workspace", 0))
	// A machine's own boot identity, not that of the host's kernel.
	s.bind("boot_id", "/proc/sys/kernel/random/boot_id", s.stateFile("boot_id", unix.MOUNT_ATTR_RDONLY))
	unix.Umask(0o022)
}

func (s *setup) devices() {
	s.mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=755,size=64k")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} { // mknod is not for user namespaces
		s.bind(name, "/dev/"+name, func() (int, error) {
			if err := os.WriteFile("/dev/"+name, nil, 0o666); err != nil {
				return -1, err
			}
			return openTree(s.host, "dev/"+name, 0)
		})
	}
	s.do("make /dev directories", func() error {
		return errors.Join(makeDir("/dev/pts", 0o755), makeDir("/dev/shm", 0o1777))
	})
	// Without gid=5, which an ordinary user's namespace does not have.
	s.mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	s.mount("shm", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,"+runSize)
	s.do("link devices", func() error {
		return errors.Join(
			os.Symlink("pts/ptmx", "/dev/ptmx"),
			os.Symlink("/proc/self/fd", "/dev/fd"),
			os.Symlink("/proc/self/fd/0", "/dev/stdin"),
			os.Symlink("/proc/self/fd/1", "/dev/stdout"),
			os.Symlink("/proc/self/fd/2", "/dev/stderr"),
		)
	})
}

// mount mounts a new file system.
func (s *setup) mount(source, target, fstype string, flags uintptr, data string) {
	s.do("mount "+target, func() error { return unix.Mount(source, target, fstype, flags, data) })
}

// bind mounts the tree that open returns at target.
func (s *setup) bind(what, target string, open func() (int, error)) {
	s.do("bind "+target, func() error {
		tree, err := open()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		defer unix.Close(tree)
		return unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS)
	})
}

func (s *setup) stateFile(name string, attr uint64) func() (int, error) {
	return func() (int, error) { return openTree(s.state, name, attr) }
}

// openTree makes a mount of a file or directory, which is not attached anywhere yet. It takes the mounts below along,
// because those that came from a more privileged namespace must not be uncovered, and sets the attributes for all of them.
func openTree(dir int, name string, attr uint64) (int, error) {
	tree, err := unix.OpenTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, err
	}
	if attr == 0 {
		return tree, nil
	}
	if err := setAttr(tree, &unix.MountAttr{Attr_set: attr}); err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
}

// setAttr adds to the flags of the mount and leaves those it has, of which some must not be taken away in a user namespace.
func setAttr(tree int, attr *unix.MountAttr) error {
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr)
}

// hostTree shows a part of the host.
func (s *setup) hostTree(b *bind) func() (int, error) {
	return func() (int, error) {
		attr := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if !b.Writable {
			attr |= unix.MOUNT_ATTR_RDONLY
		}
		if b.File == 0 {
			return openTree(s.host, strings.TrimPrefix(b.Source, "/"), attr)
		}
		return b.File, setAttr(b.File, &unix.MountAttr{Attr_set: attr})
	}
}

// makeDir makes a directory, and its parents, unless it exists.
func makeDir(dir string, mode uint32) error {
	err := unix.Mkdir(dir, mode)
	if err == unix.ENOENT {
		if err := os.MkdirAll(path.Dir(dir), 0o755); err != nil {
			return err
		}
		err = unix.Mkdir(dir, mode)
	}
	if err != unix.EEXIST {
		return err
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() { // a link to one is as good
		return &os.PathError{Op: "mkdir", Path: dir, Err: unix.EEXIST}
	}
	return nil
}
