//go:build !linux

package host

import "net"

// reserve lets the first listener choose the port, which may be another's when it was closed.
func reserve() (addr net.Addr, release func() error, err error) {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, func() error { return nil }, nil
}
