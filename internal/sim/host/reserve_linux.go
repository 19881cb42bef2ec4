package host

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// reserve takes a free port of 127.0.0.1 on which this process can listen time and again. In between nobody listens and the port stays taken:
// without that any connection that this system makes may get it as its own, and the next listener could not.
func reserve() (addr net.Addr, release func() error, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	if err == nil {
		// After the bind, so that the port is one that nobody has; listeners have it too, and so they go together.
		err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	}
	name, nameErr := unix.Getsockname(fd)
	bound, ok := name.(*unix.SockaddrInet4)
	if err = errors.Join(err, nameErr); err == nil && !ok {
		err = fmt.Errorf("a socket of the address %T", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, unix.Close(fd))
	}
	return &net.TCPAddr{IP: bound.Addr[:], Port: bound.Port}, func() error { return unix.Close(fd) }, nil
}
