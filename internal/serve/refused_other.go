//go:build !windows

package serve

import (
	"errors"
	"syscall"
)

// Refused reports whether err says that nobody listens at an address.
func Refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
