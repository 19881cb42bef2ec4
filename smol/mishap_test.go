package smol_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/smol"
)

// badReader is a reader that does what readers should not.
type badReader func()

func (r badReader) Read([]byte) (int, error) {
	r()
	return 0, io.EOF
}

// A reader's panic reaches the caller of Put, and one that ends its goroutine does not hang it.
func TestPutOfBadReaders(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	func() {
		defer func() {
			if p := recover(); p != "put" {
				t.Errorf("panic of %v", p)
			}
		}()
		_ = m.Put(t.Context(), "/tmp/f", badReader(func() { panic("put") }), nil)
	}()
	if err := m.Put(t.Context(), "/tmp/f", badReader(runtime.Goexit), nil); err == nil {
		t.Error("a reader that ended its goroutine was taken for empty")
	}
	m.wantNoStage()
}

// What the runner itself says reaches the one writer of both streams.
func TestCombinedOutputWithoutDir(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	cmd := m.Shell("echo never")
	cmd.Dir = "/nosuch"
	out, err := cmd.CombinedOutput(t.Context())
	var exit *smol.ExitError
	if !errors.As(err, &exit) || exit.Code != 126 || !strings.Contains(string(out), "/nosuch") {
		t.Errorf("%q, %v", out, err)
	}
}
