package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// process1 is a machine's process 1, seen from the host through a descriptor: that means the same process for ever, while its
// number can become another one's.
type process1 struct {
	pid  int
	file *os.File
	// gone is closed when every process of the machine has ended: the kernel ends process 1 only after all others.
	gone chan struct{}
	once sync.Once
}

// newProcess1 takes over the descriptor.
func newProcess1(pid, pidfd int) (*process1, error) {
	if err := unix.SetNonblock(pidfd, true); err != nil { // so that it can be waited for without a thread
		unix.Close(pidfd)
		return nil, err
	}
	return &process1{pid: pid, file: os.NewFile(uintptr(pidfd), "pidfd"), gone: make(chan struct{})}, nil
}

// findProcess1 opens a process by its number. The caller makes sure that it was the right one.
func findProcess1(pid int) (*process1, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return newProcess1(pid, fd)
}

// wait returns when every process of the machine has ended, or with an error when p was closed.
func (p *process1) wait() error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		if n < 1 || err != nil {
			return false
		}
		// Our child or not: if it is, nobody else would ever take it out of the process list.
		unix.Waitid(unix.P_PIDFD, int(fd), nil, unix.WEXITED|unix.WNOHANG, nil)
		return true
	})
	if err == nil {
		p.once.Do(func() { close(p.gone) })
	}
	return err
}

// signal signals process 1. A nil p is no machine.
func (p *process1) signal(sig syscall.Signal) error {
	if p == nil {
		return nil
	}
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	e := raw.Control(func(fd uintptr) { err = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	if errors.Is(err, unix.ESRCH) {
		return errors.Join(e)
	}
	return errors.Join(e, os.NewSyscallError("pidfd_send_signal", err))
}

// kill ends the machine, returns when every process of it is gone, and closes p. A nil p is no machine.
func (p *process1) kill() {
	if p == nil {
		return
	}
	p.signal(unix.SIGKILL)
	p.wait()
	p.file.Close()
}
