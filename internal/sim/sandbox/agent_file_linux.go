package sandbox

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// read answers with a descriptor of the file.
func (a *agent) read(c *net.UnixConn, name string) {
	f, err := openRegular(name)
	if err != nil {
		a.answer(c, err)
		return
	}
	defer f.Close()
	a.answer(c, nil, int(f.Fd()))
}

func openRegular(name string) (*os.File, error) {
	notRegular := &fs.PathError{Op: "open", Path: name, Err: sim.ErrNotRegular}
	// Looked at first, as opening a device can do something, and again afterwards, as it may have been replaced. O_NONBLOCK is
	// for the same case: a FIFO must not hang us.
	if fi, err := os.Stat(name); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, notRegular
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, notRegular)
	}
	return f, nil
}

// write answers with a descriptor of a new file beside name. It takes the place of name when the caller says so, and is removed
// when the caller goes away without a word.
func (a *agent) write(c *net.UnixConn, name string) {
	f, err := a.create(name)
	if err != nil {
		a.answer(c, err)
		return
	}
	defer f.Close()
	var then request
	if a.answer(c, nil, int(f.Fd())) {
		files, err := readFrame(c, &then)
		closeAll(files)
		if err != nil {
			then.Op = ""
		}
	}
	if then.Op != opCommit {
		os.Remove(f.Name())
		return
	}
	if err = a.commit(f, name); err != nil {
		os.Remove(f.Name())
	}
	a.answer(c, err)
}

func (a *agent) create(name string) (*os.File, error) {
	a.gate.RLock()
	defer a.gate.RUnlock()
	if fi, err := os.Stat(name); err == nil && fi.IsDir() {
		return nil, &fs.PathError{Op: "write", Path: name, Err: syscall.EISDIR}
	}
	if err := os.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.CreateTemp(path.Dir(name), ".smol-*")
}

func (a *agent) commit(f *os.File, name string) error {
	a.gate.RLock()
	defer a.gate.RUnlock()
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: errors.Unwrap(err)}
	}
	return nil
}
