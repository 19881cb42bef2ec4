package smol

import (
	"errors"
	"net"
	"net/http"

	"github.com/smol-machines/smol-go/internal/guest"
)

// ambiguous reports whether after err the service may have done what it was asked, or may still do it. After any other error it
// has not.
func ambiguous(err error) bool {
	var state *StateError
	var dial *net.OpError
	if err == nil || errors.As(err, &state) || errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	if errors.Is(err, guest.ErrNoShell) || errors.Is(err, guest.ErrNoBase) || errors.Is(err, guest.ErrNoJob) {
		return false // the machine has answered
	}
	var e *Error
	if !errors.As(err, &e) {
		return true
	}
	switch {
	case isContextError(err), e.Status == http.StatusRequestTimeout:
		return true
	case e.Status == 0, e.Status >= http.StatusInternalServerError:
		// A service, or a backend on its own, that gives one of these codes has looked and refused.
		return e.Code == CodeUnavailable || e.Code == CodeInternal || e.Code == CodeUnknown
	default:
		return e.Status < http.StatusBadRequest // the reply itself could not be used
	}
}

// transient reports whether the same question may get another answer soon.
func transient(err error) bool {
	var dial *net.OpError
	return ambiguous(err) || errors.As(err, &dial) || errors.Is(err, ErrRateLimited)
}
