// Package retry sends requests to the cloud again where that is safe, and only there.
//
// What is safe is said by the caller, per operation: see [Policy] and [With]. A request without a policy, and one whose body cannot be had a
// second time, such as an upload, is sent once over the plain transport. At most three are sent in all. Between them it waits a quarter of
// a second, then half a second, with jitter, or as long as the service's Retry-After says. A wait that the caller's context
// would cut short, or of more than 30 seconds, is not begun: the caller gets the refusal, which says how long to wait.
//
// Nothing is logged, and the last answer comes back as it was, body and all.
package retry

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Tries is how often a request is sent at most.
const Tries = 3

// Plan is how a request may be repeated, and what has become of it. It is for one request.
type Plan struct {
	policy Policy
	sent   atomic.Int32
}

// Sent returns how often the request has been handed to the network.
func (p *Plan) Sent() int { return int(p.sent.Load()) }

type planKey struct{}

// With returns a context for one request under the policy.
func With(ctx context.Context, p Policy) (context.Context, *Plan) {
	plan := &Plan{policy: p}
	return context.WithValue(ctx, planKey{}, plan), plan
}

// planOf returns the plan of the request, or nil.
func planOf(ctx context.Context) *Plan {
	plan, _ := ctx.Value(planKey{}).(*Plan)
	return plan
}

// Transport sends requests, again where their plans allow it. It follows no redirect. It is made by [New].
type Transport struct {
	once   counter
	client *retryablehttp.Client
}

// New returns a transport over plain.
func New(plain http.RoundTripper) *Transport {
	once := counter{plain}
	return &Transport{once: once, client: &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport:     once,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     Tries - 1,
		RetryWaitMin: firstWait,
		CheckRetry:   check,
		Backoff:      backoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}}
}

// counter notes in its plan that a request is sent. It hides CloseIdleConnections of what it wraps: the client calls that whenever it gives
// up, and the connections are those of all calls.
type counter struct{ plain http.RoundTripper }

// RoundTrip sends the request.
func (c counter) RoundTrip(req *http.Request) (*http.Response, error) {
	if plan := planOf(req.Context()); plan != nil {
		plan.sent.Add(1)
	}
	return c.plain.RoundTrip(req)
}

// SetFirstWait changes the wait before the second try, a quarter of a second, and with it all later ones. It is for tests, and not while requests
// are made.
func (t *Transport) SetFirstWait(d time.Duration) { t.client.RetryWaitMin = d }

// RoundTrip sends the request, again if need be.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	plan := planOf(req.Context())
	hasBody := req.Body != nil && req.Body != http.NoBody
	if plan == nil || plan.policy == Never || hasBody && req.GetBody == nil {
		return t.once.RoundTrip(req)
	}
	again, err := repeatable(req)
	if err != nil {
		return nil, err
	}
	resp, err := t.client.Do(again)
	if hasBody {
		_ = req.Body.Close() // copies of it were sent
	}
	return resp, unwrap(err)
}

// repeatable returns a copy of the request whose body can be read any number of times. The client would read a body that it is not told
// about into memory.
func repeatable(req *http.Request) (*retryablehttp.Request, error) {
	again := &retryablehttp.Request{Request: req.WithContext(req.Context())}
	if req.GetBody == nil {
		return again, nil
	}
	body := func() (io.Reader, error) { return req.GetBody() }
	if err := again.SetBody(retryablehttp.ReaderFunc(body)); err != nil {
		return nil, err
	}
	again.ContentLength, again.GetBody = req.ContentLength, req.GetBody
	return again, nil
}

// CloseIdleConnections closes those of the plain transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.once.plain.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
