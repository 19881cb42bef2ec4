package serve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerUID returns the user whose process made the socket listen.
func peerUID(c syscall.RawConn) (int, error) {
	var cred *unix.Xucred
	var bad error
	if err := c.Control(func(fd uintptr) { cred, bad = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); err != nil {
		return 0, err
	}
	if bad != nil {
		return 0, bad
	}
	return int(cred.Uid), nil
}
