package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// guestPath makes a path of the machine absolute.
func guestPath(op, name string) (string, error) {
	var err error
	switch {
	case name == "":
		err = unix.ENOENT
	case strings.ContainsRune(name, 0):
		err = unix.EINVAL
	case slices.Contains(strings.Split(name, "/"), ".."):
		err = fmt.Errorf("parent traversal is not allowed: %w", unix.EINVAL)
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return path.Clean("/" + name), nil
}

// ReadFile opens a regular file. The name of the FileInfo is the last element of the path.
func (m *instance) ReadFile(name string) (io.ReadCloser, fs.FileInfo, error) {
	clean, err := guestPath("open", name)
	if err != nil {
		return nil, nil, err
	}
	c, fd, err := m.askFile(context.Background(), &request{Op: opRead, Path: []byte(clean)})
	if err != nil {
		return nil, nil, err
	}
	m.hangUp(c)
	f := os.NewFile(uintptr(fd), clean)
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() { // the machine is not to be believed
		err = &fs.PathError{Op: "open", Path: clean, Err: sim.ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// WriteFile writes a new file and puts it in the place of name when it is complete. On an error name is as it was.
func (m *instance) WriteFile(name string, r io.Reader) (int64, error) {
	clean, err := guestPath("write", name)
	if err != nil {
		return 0, err
	}
	if clean == "/" || strings.HasSuffix(name, "/") {
		return 0, &fs.PathError{Op: "write", Path: name, Err: unix.EISDIR}
	}
	c, fd, err := m.askFile(context.Background(), &request{Op: opWrite, Path: []byte(clean)})
	if err != nil {
		return 0, err
	}
	defer m.hangUp(c) // and unless it was committed, that removes it
	f := os.NewFile(uintptr(fd), clean)
	n, err := io.Copy(f, r)
	if err := errors.Join(err, f.Close()); err != nil {
		return n, err
	}
	_, files, err := m.talk(c, &request{Op: opCommit})
	closeAll(files)
	return n, err
}

// Dial connects to a port of the machine's loopback.
func (m *instance) Dial(ctx context.Context, port int) (net.Conn, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("port %d: %w", port, unix.EINVAL)
	}
	c, fd, err := m.askFile(ctx, &request{Op: opDial, Port: port})
	if err != nil {
		return nil, fmt.Errorf("dial port %d of the machine: %w", port, err)
	}
	m.hangUp(c)
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close() // FileConn makes its own copy
	return net.FileConn(f)
}

// Freeze halts every process of the machine. A machine that is frozen already stays so. If this program ends, the machine
// thaws. A command or a write that is begun in the meantime waits.
func (m *instance) Freeze() error {
	m.freezing.Lock()
	defer m.freezing.Unlock()
	if m.frozen != nil {
		return nil
	}
	c, _, files, err := m.ask(context.Background(), &request{Op: opFreeze})
	if err != nil {
		return err
	}
	closeAll(files)
	m.frozen = c
	return nil
}

// Thaw lets the processes of the machine go on, also those that had been stopped before it was frozen.
func (m *instance) Thaw() error {
	m.freezing.Lock()
	defer m.freezing.Unlock()
	if m.frozen == nil {
		return nil
	}
	c := m.frozen
	m.frozen = nil
	defer m.hangUp(c)
	_, files, err := m.talk(c, &request{Op: opThaw})
	closeAll(files)
	return err
}
