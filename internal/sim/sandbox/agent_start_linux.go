package sandbox

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errNoCommand = errors.New("no command")

// start starts a command and stays until it has ended.
func (a *agent) start(c *net.UnixConn, req *startRequest, files *[]int) {
	if req == nil || len(req.Argv) == 0 {
		a.answer(c, errNoCommand)
		return
	}
	started, master, err := a.startCommand(req, files)
	if err != nil {
		a.answer(c, err)
		return
	}
	var out []int
	if master >= 0 {
		out = []int{master}
	}
	err = writeFrame(c, &reply{ID: started.id, PID: started.pid}, out...)
	closeAll(out)
	if err != nil {
		a.signal(started.id, int(unix.SIGKILL)) // who started it does not know that it runs
		return
	}
	a.await(c, started, req.Keep)
}

// await tells the caller how the command ended. A caller that goes away takes its command along, unless it asked otherwise.
func (a *agent) await(c *net.UnixConn, started *child, keep bool) {
	left := gone(c)
	if keep {
		left = nil
	}
	select {
	case <-started.done:
		status := uint32(started.status)
		writeFrame(c, &reply{Status: &status})
	case <-left:
		a.signal(started.id, int(unix.SIGKILL))
	}
}

// startCommand returns the command, and the master side of its terminal or -1.
func (a *agent) startCommand(req *startRequest, files *[]int) (started *child, master int, err error) {
	argv, env := toStrings(req.Argv), toStrings(req.Env)
	if req.DefaultEnv {
		env = os.Environ()
	}
	dir := string(req.Dir)
	if dir == "" {
		dir = "/"
	}
	if err := checkDir(dir); err != nil {
		return nil, -1, err
	}
	path, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, -1, err
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	if sys.Credential, err = a.ids.credential(string(req.User)); err != nil {
		return nil, -1, err
	}
	fds, master, err := a.streams(req, files, sys)
	if err != nil {
		return nil, -1, err
	}
	a.gate.RLock() // a frozen machine starts nothing
	defer a.gate.RUnlock()
	started, err = a.spawn(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: sys})
	if req.TTY {
		unix.Close(int(fds[0]))
		if err != nil {
			unix.Close(master)
		}
	}
	if err != nil {
		return nil, -1, &os.PathError{Op: "exec", Path: argv[0], Err: err}
	}
	// Only now that the command has them: the other side sees their end when it is the last to hold them.
	closeAll(*files)
	*files = nil
	return started, master, nil
}

// streams returns what the command gets as descriptors 0, 1 and 2.
func (a *agent) streams(req *startRequest, files *[]int, sys *syscall.SysProcAttr) (fds []uintptr, master int, err error) {
	if req.TTY {
		master, slave, err := openTerminal(req.Rows, req.Cols)
		if err != nil {
			return nil, -1, err
		}
		if sys.Credential != nil {
			unix.Fchown(slave, int(sys.Credential.Uid), -1)
		}
		sys.Setctty, sys.Ctty = true, 0
		return []uintptr{uintptr(slave), uintptr(slave), uintptr(slave)}, master, nil
	}
	next := 0
	for _, sent := range req.Streams {
		switch {
		case !sent:
			fds = append(fds, uintptr(a.null))
		case next == len(*files):
			return nil, -1, errors.New("fewer descriptors than streams")
		default:
			fds = append(fds, uintptr((*files)[next]))
			next++
		}
	}
	return fds, -1, nil
}

// openTerminal makes a terminal of the machine's own.
func openTerminal(rows, cols uint16) (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
		err = unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	}
	if err == nil {
		// Not by its name, which a guest may have mounted something else on.
		fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno == 0 {
			return master, int(fd), nil
		}
		err = errno
	}
	unix.Close(master)
	return -1, -1, os.NewSyscallError("open terminal", err)
}

func toStrings(bytes [][]byte) []string {
	s := make([]string, len(bytes))
	for i, b := range bytes {
		s[i] = string(b)
	}
	return s
}
