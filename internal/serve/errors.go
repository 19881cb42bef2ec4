package serve

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/smol-machines/smol-go/smol"
)

// What errors of this package wrap.
var (
	// ErrNotServed: no service is there, and none can be started.
	ErrNotServed = errors.New("no local service")
	// ErrTooOld: the release is older than the oldest that is used.
	ErrTooOld = errors.New("smolvm is too old")
	// ErrForeign: the process that listens belongs to another user.
	ErrForeign = errors.New("another user listens there")
)

// where says how to use a service that runs elsewhere.
const where = "set SMOL_LOCAL_URL to where it listens"

// unavailable is an error that says why there is no service. That it comes from dialling tells that nothing was sent.
func unavailable(cause error, message, hint string) error {
	return failure(smol.CodeUnavailable, ErrNotServed, cause, message, hint)
}

func failure(code smol.Code, sentinel, cause error, message, hint string) error {
	err := sentinel
	if cause != nil {
		err = fmt.Errorf("%w: %w", sentinel, cause)
	}
	return &smol.Error{Code: code, Message: message, Hint: hint, Err: &net.OpError{Op: "dial", Net: "smolvm", Err: err}}
}

// ended returns what a cancelled context says, or nil.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
