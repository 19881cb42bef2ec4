//go:build linux || darwin

package serve_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/serve"
)

// kill ends a process and waits until it has.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := serve.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !p.Gone(time.Minute) {
		t.Fatalf("process %d does not end", pid)
	}
}
