package serve

import (
	"errors"
	"syscall"
)

// wsaConnRefused is what Windows calls ECONNREFUSED; package syscall has a number of its own for that name.
const wsaConnRefused = syscall.Errno(10061)

// Refused reports whether err says that nobody listens at an address.
func Refused(err error) bool {
	return errors.Is(err, wsaConnRefused) || errors.Is(err, syscall.ECONNREFUSED)
}
