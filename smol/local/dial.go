package local

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/serve"
	"github.com/smol-machines/smol-go/smol"
)

// dialer connects to the service.
type dialer struct {
	endpoint
	timeout time.Duration // of one attempt
	window  time.Duration // Options.StartWindow
	// check, if it is not nil, looks at who accepted a connection.
	check func(net.Conn) error
	// reached: the service was there before, and has not been given up since. Somebody who has waited for its restart in vain does
	// not make all later calls wait too.
	reached atomic.Bool
}

// dial connects, as http.Transport.DialContext; the address is always that of the service.
func (d *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	began := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		c, err := d.once(ctx)
		if err == nil {
			d.reached.Store(true)
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if time.Since(began)+wait > d.patience(err) {
			d.reached.Store(false)
			return nil, d.explain(err)
		}
		if err := pace.Wait(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (d *dialer) once(ctx context.Context) (net.Conn, error) {
	nd := net.Dialer{Timeout: d.timeout}
	c, err := nd.DialContext(ctx, d.network, d.address)
	if err != nil || d.check == nil {
		return c, err
	}
	if err := d.check(c); err != nil {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: d.network, Err: err}, c.Close())
	}
	return c, nil
}

// patience is how long it makes sense to try again after err.
func (d *dialer) patience(err error) time.Duration {
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return d.timeout // the socket's queue is full, as when many calls begin at once
	case !errors.Is(err, fs.ErrNotExist) && !serve.Refused(err), d.window < 0:
		return 0
	case d.window > 0:
		return d.window
	case d.reached.Load():
		return defaultStartWindow
	default:
		return 0
	}
}

// explain makes the error of a failed attempt, whose cause stays a *net.OpError so that it shows that nothing was sent.
func (d *dialer) explain(err error) error {
	e := &smol.Error{Code: smol.CodeUnavailable, Err: err}
	var timeout net.Error
	switch {
	case errors.Is(err, serve.ErrForeign):
		e.Code = smol.CodePermissionDenied
		e.Message = "the process that listens at " + d.url + " is neither this user's nor root's"
		e.Hint = "find out who put the socket there, and remove it"
	case errors.Is(err, fs.ErrPermission):
		e.Code = smol.CodePermissionDenied
		e.Message = "no permission to use " + d.url
		e.Hint = "run this program as the user who runs smolvm, or start a service of your own: smolvm serve start -l unix://<path>, and set " + EnvURL
	case errors.Is(err, fs.ErrNotExist):
		e.Message = "nobody serves at " + d.url + ": there is no such socket"
		e.Hint = d.startHint()
	case serve.Refused(err) && d.network == "unix":
		e.Message = "nobody serves at " + d.url + ": the socket is left over from a service that ended"
		e.Hint = d.startHint()
	case serve.Refused(err):
		e.Message = "nobody serves at " + d.url
		e.Hint = d.startHint()
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Message = d.url + " did not accept a connection within " + d.timeout.String()
		e.Hint = "see whether the service hangs; stop it and start it again, machines run on"
		// The error of package net also claims to be context.DeadlineExceeded, which is for the caller's own context.
		e.Err = &net.OpError{Op: "dial", Net: d.network, Err: errors.New("timed out")}
	default:
		e.Message = "cannot connect to " + d.url + ": " + err.Error()
	}
	return e
}

// startHint says how to start a service where this client looks for it.
func (d *dialer) startHint() string {
	hint := "start it with: smolvm serve start"
	if d.url != defaultURL(runtime.GOOS) {
		hint += " -l "
		if d.network == "unix" {
			hint += "unix://"
		}
		hint += d.address // smolvm takes an address without a scheme
	}
	return hint + "; or set " + EnvURL + " to where it listens"
}
