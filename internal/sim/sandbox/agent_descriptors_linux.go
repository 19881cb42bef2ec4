package sandbox

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errStreams = errors.New("descriptors and streams do not agree")

// descriptors are what a command gets as 0, 1 and 2.
type descriptors struct {
	child [3]uintptr
	// made are those that were made for the child, to be closed here when it has them; other are their other ends.
	made, other []int
}

// descriptors returns what a command gets. On an error some may have been made.
func (a *agent) descriptors(req *startRequest, files []int, cred *syscall.Credential) (*descriptors, error) {
	d := &descriptors{}
	if req.TTY {
		return d, d.terminal(req.Rows, req.Cols, cred)
	}
	for i, kind := range req.Streams {
		var err error
		switch {
		case kind == streamNull:
			d.child[i] = uintptr(a.null)
		case kind == streamFile && len(files) > 0:
			d.child[i] = uintptr(files[0])
			files = files[1:]
		case kind == streamPipe:
			err = d.pipe(i, cred)
		case kind == streamSame && i == 2:
			d.child[2] = d.child[1]
		default:
			err = errStreams
		}
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// pipe makes a pipe that belongs to the user of the command.
func (d *descriptors) pipe(i int, cred *syscall.Credential) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	child, other := p[1], p[0]
	if i == 0 {
		child, other = other, child
	}
	d.add(child, other, cred)
	d.child[i] = uintptr(child)
	return nil
}

// terminal makes a terminal of the machine's own.
func (d *descriptors) terminal(rows, cols uint16, cred *syscall.Credential) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
		err = unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	}
	if err == nil {
		// Not by its name, which a guest may have mounted something else on.
		slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno == 0 {
			d.add(int(slave), master, cred)
			d.child = [3]uintptr{slave, slave, slave}
			return nil
		}
		err = errno
	}
	unix.Close(master)
	return os.NewSyscallError("open terminal", err)
}

func (d *descriptors) add(child, other int, cred *syscall.Credential) {
	if cred != nil {
		unix.Fchown(child, int(cred.Uid), int(cred.Gid))
	}
	d.made, d.other = append(d.made, child), append(d.other, other)
}
