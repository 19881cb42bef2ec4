//go:build linux

package sandbox_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// Errors say the same on both sides of the socket.
func TestErrorsCrossTheSocket(t *testing.T) {
	for _, err := range []error{
		&fs.PathError{Op: "open", Path: "/a\xff", Err: syscall.ENOENT},
		&fs.PathError{Op: "open", Path: "/a", Err: sim.ErrNotRegular},
		fmt.Errorf("user %q: %w", "x", sim.ErrNoUser),
		os.ErrProcessDone,
		syscall.ECONNREFUSED,
		os.NewSyscallError("kill", syscall.EPERM),
		errors.New("something"),
	} {
		got := sandbox.WireError(err)
		if got.Error() != err.Error() {
			t.Errorf("%q became %q", err, got)
		}
		for _, target := range []error{fs.ErrNotExist, fs.ErrPermission, sim.ErrNotRegular, sim.ErrNoUser, os.ErrProcessDone, syscall.ECONNREFUSED, syscall.ENOENT} {
			if errors.Is(got, target) != errors.Is(err, target) {
				t.Errorf("%q: is %q on one side only", err, target)
			}
		}
	}
}

// FuzzRequest: whatever a caller sends, the agent reads no more than it was told, and does not fall over.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{``, `{}`, `null`, `{"Op":"hello"}`, `{"Op":"start","Start":{"Argv":["AA=="],"Streams":[1,2,3]}}`, `{"Start":null,"ID":-1}`, `[`} {
		f.Add(uint32(len(body)), []byte(body))
	}
	f.Add(uint32(sandbox.MaxFrame+1), []byte("{}"))
	f.Fuzz(func(t *testing.T, size uint32, body []byte) {
		var head [4]byte
		binary.BigEndian.PutUint32(head[:], size)
		err := sandbox.IsRequest(head, body)
		if err == nil && int(size) > len(body) {
			t.Errorf("a message of %d bytes was accepted as %d", len(body), size)
		}
		if err == nil && size > sandbox.MaxFrame {
			t.Errorf("a message of %d bytes was accepted", size)
		}
	})
}
