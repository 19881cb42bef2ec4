package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// Adopt returns the machine that runs in dir, whichever process made it. If none does, the error matches [sim.ErrNotRunning].
func (g *Guest) Adopt(ctx context.Context, dir string) (sim.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := openState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, sim.ErrNotRunning)
	}
	if err != nil {
		return nil, err
	}
	m, err := adopt(ctx, s)
	if err != nil {
		s.close()
		return nil, err
	}
	return m, nil
}

func adopt(ctx context.Context, s *state) (*instance, error) {
	id, err := s.bootID()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, errors.Join(sim.ErrNotRunning, err))
	}
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	pid, err := peer(c)
	c.Close()
	if err != nil {
		return nil, err
	}
	p, err := findProcess1(pid)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("%s: %w", s.path, sim.ErrNotRunning)
	}
	if err != nil {
		return nil, err
	}
	m := newInstance(s, p, id)
	// It listened before the process was opened by its number. If it still answers, the number cannot have become another's
	// in between.
	if err := m.hello(ctx); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// peer returns the process that listens on the other side: the kernel says so, not the machine.
func peer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	e := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(e, err); err != nil {
		return 0, err
	}
	if cred.Pid < 1 {
		return 0, errors.New("the machine runs in a process namespace that cannot be seen from here")
	}
	return int(cred.Pid), nil
}
