package host_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/script"
)

// TestPortStaysTaken: nobody listens on the port of a stand-in that was killed, and no connection gets it, or the next server could not have it.
func TestPortStaysTaken(t *testing.T) {
	h := start(t, script.New(programs), true)
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	addr := h.URL()[len("http://"):]
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v", err)
	}
	local, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if c, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", other.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a connection from the port: %v, %v", c, err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, _ := call(t, h, "GET", "/health", ""); status != 200 {
		t.Errorf("after the restart: %d", status)
	}
}
