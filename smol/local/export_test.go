package local

import (
	"runtime"
	"time"

	"github.com/smol-machines/smol-go/internal/serve"
)

// For the tests of what depends on the system or on time.
var (
	ParseEndpoint = func(raw, goos string) (string, error) {
		e, err := parseEndpoint(raw, goos)
		if err != nil {
			return "", err
		}
		return e.url, nil
	}
	EnvURLFor   = envURL
	UsualFor    = usual
	RuntimeDir  = runtimeDir
	Probe       = probe
	ErrForeign  = serve.ErrForeign
	AtLeast     = atLeast
	Normalise   = normalise
	StreamError = streamError
)

// Hurry makes the waits between questions short.
func (b *Backend) Hurry() {
	b.pauses = pauses{settle: time.Millisecond, follower: time.Millisecond, image: time.Millisecond}
}

// Patience is how long dialling is repeated after err.
func Patience(window time.Duration, reached bool, err error) time.Duration {
	d := &dialer{timeout: 7 * time.Second, window: window}
	d.reached.Store(reached)
	return d.patience(err)
}

// ExplainDial is the error of a failed attempt.
func ExplainDial(url string, err error) error {
	e, bad := parseEndpoint(url, runtime.GOOS)
	if bad != nil {
		return bad
	}
	return (&dialer{endpoint: *e, timeout: 7 * time.Second}).explain(err)
}
