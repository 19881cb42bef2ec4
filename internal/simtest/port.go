package simtest

import (
	"net"
	"strconv"
	"testing"
)

// FreePort returns a TCP port of loopback that nobody has just now.
func FreePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
