package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// The names in a state directory.
const (
	rootName      = "root"
	workspaceName = "workspace"
	bootIDName    = "boot_id"
	socketName    = "agent.sock"
)

// state is a state directory, open.
type state struct {
	path string
	dir  *os.File
}

func openState(path string) (*state, error) {
	if path == "" {
		return nil, &os.PathError{Op: "open", Path: path, Err: unix.ENOENT}
	}
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return &state{path: path, dir: dir}, nil
}

func (s *state) close() error { return s.dir.Close() }

func (s *state) file(name string) string { return filepath.Join(s.path, name) }

// prepare makes what is missing and gives it to the root of the machine. The directory itself too: it is private, and the set-up
// starts from it.
func (s *state) prepare(id *identity, bootID string) error {
	for _, name := range []string{rootName, workspaceName} {
		if err := os.Mkdir(s.file(name), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if fi, err := os.Lstat(s.file(name)); err != nil || !fi.IsDir() { // a link would show what it leads to
			return errors.Join(err, &os.PathError{Op: "prepare", Path: s.file(name), Err: unix.ENOTDIR})
		}
	}
	if err := os.WriteFile(s.file(bootIDName), []byte(bootID+"\n"), 0o644); err != nil {
		return err
	}
	for _, name := range []string{".", rootName, workspaceName, bootIDName} {
		if !id.root {
			break
		}
		if err := os.Lchown(s.file(name), id.uid.HostID, id.gid.HostID); err != nil {
			return err
		}
	}
	return nil
}

// lock keeps others from booting in the same directory until the state is closed.
func (s *state) lock() error {
	err := s.control(func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: a machine is being booted there already: %w", s.path, err)
	}
	return err
}

// control calls f with the directory's descriptor, which stays open meanwhile.
func (s *state) control(f func(fd int) error) error {
	raw, err := s.dir.SyscallConn()
	if err != nil {
		return err
	}
	if e := raw.Control(func(fd uintptr) { err = f(int(fd)) }); e != nil {
		return e
	}
	return err
}

// listen makes the socket of the agent.
func (s *state) listen() (file *os.File, err error) {
	if err := os.Remove(s.file(socketName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	err = s.control(func(fd int) error {
		l, err := net.ListenUnix("unix", socketAddr(fd))
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		defer l.Close()
		file, err = l.File()
		return err
	})
	return file, err
}

// dial connects to the agent. If nobody listens the error matches [sim.ErrNotRunning].
func (s *state) dial() (c *net.UnixConn, err error) {
	err = s.control(func(fd int) (err error) {
		c, err = net.DialUnix("unix", nil, socketAddr(fd))
		return err
	})
	switch {
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT), errors.Is(err, os.ErrClosed):
		return nil, fmt.Errorf("%s: %w", s.path, sim.ErrNotRunning)
	case err != nil:
		return nil, err
	}
	return c, nil
}

// socketAddr goes through an open directory, as the address of a Unix socket has only 108 bytes.
func socketAddr(dir int) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, socketName)}
}

func (s *state) bootID() (string, error) {
	b, err := os.ReadFile(s.file(bootIDName))
	return strings.TrimSpace(string(b)), err
}

// newBootID returns a random UUID, as the kernel's own is.
func newBootID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
