package retry

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

// Policy says after what a request may be sent again. Each one includes those before it.
type Policy int

// The policies.
const (
	// Never is the zero value: the request is sent once.
	Never Policy = iota
	// Refused: after 429 with Retry-After, by which the service says that it has done nothing and when to come again.
	Refused
	// Idempotent: also after any 429, after 502, 503 and 504, and when no answer came. For requests of which the second changes nothing
	// that the first has not.
	Idempotent
	// Question: also after 500. For requests that change nothing.
	Question
)

// String returns the policy's name.
func (p Policy) String() string {
	switch p {
	case Refused:
		return "refused"
	case Idempotent:
		return "idempotent"
	case Question:
		return "question"
	}
	return "never"
}

const (
	firstWait = 250 * time.Millisecond
	// mostWait is the longest Retry-After that is waited for.
	mostWait = 30 * time.Second
)

// check is the policy of the client: it depends on its arguments and the time left, and on nothing else.
func check(ctx context.Context, resp *http.Response, err error) (bool, error) {
	plan := planOf(ctx)
	if plan == nil || ctx.Err() != nil {
		return false, nil
	}
	if err != nil {
		return plan.policy >= Idempotent && passing(err), nil
	}
	wait := rest.RetryAfter(resp.Header.Get("Retry-After"))
	if deadline, ok := ctx.Deadline(); wait > mostWait || ok && wait >= time.Until(deadline) {
		return false, nil
	}
	return plan.policy.after(resp.StatusCode, resp.Header.Get("Retry-After") != ""), nil
}

// after reports whether the policy allows another try after an answer with that status.
func (p Policy) after(status int, retryAfter bool) bool {
	switch status {
	case http.StatusTooManyRequests:
		return p >= Idempotent || p == Refused && retryAfter
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return p >= Idempotent
	case http.StatusInternalServerError:
		return p >= Question
	}
	return false
}

// passing reports whether the same request may meet another end soon. Names that do not exist, certificates that are not trusted and
// refusals of a proxy last.
func passing(err error) bool {
	var cert *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var name *net.DNSError
	var known *smol.Error
	switch {
	case errors.As(err, &cert), errors.As(err, &plain):
		return false
	case errors.As(err, &name):
		return !name.IsNotFound
	case errors.As(err, &known):
		return known.Code == smol.CodeUnavailable
	}
	return true
}

// backoff returns how long to wait before the next try; n is how many there were, from 0.
func backoff(first, _ time.Duration, n int, resp *http.Response) time.Duration {
	wait := first << n
	jitter := rand.N(wait/2 + 1)
	if resp != nil {
		if asked := rest.RetryAfter(resp.Header.Get("Retry-After")); asked > 0 {
			return asked + jitter // never earlier: many wait for the same moment
		}
	}
	return wait*3/4 + jitter
}

// unwrap takes off what the client's own http.Client put around an error: the caller has one too.
func unwrap(err error) error {
	if wrapped, ok := err.(*url.Error); ok {
		return wrapped.Err
	}
	return err
}
