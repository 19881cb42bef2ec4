//go:build !linux && !darwin

package serve

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// peerUID cannot tell; smolvm has no Unix sockets where this is compiled.
func peerUID(syscall.RawConn) (int, error) {
	return 0, fmt.Errorf("on %s a socket does not tell who listens: %w", runtime.GOOS, errors.ErrUnsupported)
}
