package serve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerUID returns the user whose process made the socket listen.
func peerUID(c syscall.RawConn) (int, error) {
	var cred *unix.Ucred
	var bad error
	if err := c.Control(func(fd uintptr) { cred, bad = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if bad != nil {
		return 0, bad
	}
	return int(cred.Uid), nil
}
