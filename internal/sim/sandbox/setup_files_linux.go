package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeInherited closes what whoever started us left open: a guest would find it in /proc/1/fd. What this process opened by
// itself, as the Go runtime does, has the close-on-exec flag, and what came through the exec cannot have it.
func (s *setup) closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	keep := firstTree
	for _, list := range [][]bind{s.Binds, s.Mounts} {
		for _, b := range list {
			keep = max(keep, b.File+1)
		}
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < keep {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	return nil
}

// closeHost closes the set-up's own ways to the host.
func (s *setup) closeHost() error {
	return errors.Join(unix.Close(s.host), unix.Close(s.state), unix.Close(s.root))
}

// silence puts the machine's null device in the place of the three descriptors that lead to the parent, which reads until then.
func silence() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the parent then waits in vain, and says so when its context ends
	}
	defer unix.Close(null)
	for fd := range listenerFD {
		unix.Dup3(null, fd, 0)
	}
}
