package retry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/internal/retry"
	"github.com/smol-machines/smol-go/smol"
)

// TestCheck is the whole policy: what is sent again after what.
func TestCheck(t *testing.T) {
	const none = -1 // no policy reaches that far
	reset := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	for _, tt := range []struct {
		name       string
		status     int
		retryAfter string
		err        error
		from       retry.Policy // the first policy that sends again
	}{
		{name: "200", status: 200, from: none},
		{name: "301", status: 301, from: none},
		{name: "400", status: 400, from: none},
		{name: "401", status: 401, from: none},
		{name: "402", status: 402, from: none},
		{name: "404", status: 404, from: none},
		{name: "408", status: 408, from: none},
		{name: "409", status: 409, from: none},
		{name: "422", status: 422, from: none},
		{name: "429", status: 429, from: retry.Idempotent},
		{name: "429 that says when", status: 429, retryAfter: "2", from: retry.Refused},
		{name: "429 that says now", status: 429, retryAfter: "0", from: retry.Refused},
		{name: "429 that says after too long", status: 429, retryAfter: "31", from: none},
		{name: "429 that says tomorrow", status: 429, retryAfter: "99999999999", from: retry.Refused}, // nonsense, as if it had said nothing
		{name: "500", status: 500, from: retry.Question},
		{name: "501", status: 501, from: none},
		{name: "502", status: 502, from: retry.Idempotent},
		{name: "503", status: 503, from: retry.Idempotent},
		{name: "503 that says when", status: 503, retryAfter: "2", from: retry.Idempotent},
		{name: "503 that says after too long", status: 503, retryAfter: "3600", from: none},
		{name: "504", status: 504, from: retry.Idempotent},
		{name: "505", status: 505, from: none},
		{name: "cut", err: io.ErrUnexpectedEOF, from: retry.Idempotent},
		{name: "reset", err: reset, from: retry.Idempotent},
		{name: "nobody listens", err: &smol.Error{Code: smol.CodeUnavailable, Err: reset}, from: retry.Idempotent},
		{name: "refused by a proxy", err: &smol.Error{Code: smol.CodePermissionDenied}, from: none},
		{name: "unknown name", err: &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, from: none},
		{name: "resolver down", err: &net.OpError{Op: "dial", Err: &net.DNSError{IsTemporary: true}}, from: retry.Idempotent},
		{name: "not trusted", err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, from: none},
		{name: "not TLS", err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, from: none},
	} {
		for _, p := range []retry.Policy{retry.Never, retry.Refused, retry.Idempotent, retry.Question} {
			var resp *http.Response
			if tt.err == nil {
				resp = &http.Response{StatusCode: tt.status, Header: http.Header{}}
				if tt.retryAfter != "" {
					resp.Header.Set("Retry-After", tt.retryAfter)
				}
			}
			ctx, _ := retry.With(t.Context(), p)
			got, err := retry.Check(ctx, resp, tt.err)
			if want := tt.from != none && p >= tt.from; got != want || err != nil {
				t.Errorf("%s under %v: %v, %v, want %v", tt.name, p, got, err, want)
			}
		}
	}
}

func TestCheckWithoutPolicyOrTime(t *testing.T) {
	bad := &http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{}}
	if again, _ := retry.Check(t.Context(), bad, nil); again {
		t.Error("a request without a policy is sent again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, _ = retry.With(ctx, retry.Question)
	if again, err := retry.Check(ctx, bad, nil); again || err != nil {
		t.Errorf("after the end of its context: %v, %v", again, err)
	}
	synctest.Test(t, func(t *testing.T) {
		late := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"5"}}}
		for _, left := range []time.Duration{5 * time.Second, 6 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			ctx, _ = retry.With(ctx, retry.Refused)
			if again, _ := retry.Check(ctx, late, nil); again != (left > 5*time.Second) {
				t.Errorf("asked to wait 5s with %v left: %v", left, again)
			}
			cancel()
		}
	})
}

func TestBackoff(t *testing.T) {
	says := func(after string) *http.Response { return &http.Response{Header: http.Header{"Retry-After": {after}}} }
	for _, tt := range []struct {
		n           int
		resp        *http.Response
		least, most time.Duration
	}{
		{0, nil, 187 * time.Millisecond, 313 * time.Millisecond},
		{1, nil, 375 * time.Millisecond, 625 * time.Millisecond},
		{0, says("2"), 2 * time.Second, 2125 * time.Millisecond},
		{1, says("nonsense"), 375 * time.Millisecond, 625 * time.Millisecond},
	} {
		seen := map[time.Duration]bool{}
		for range 200 {
			d := retry.Backoff(250*time.Millisecond, 0, tt.n, tt.resp)
			seen[d] = true
			if d < tt.least || d > tt.most {
				t.Fatalf("try %d: waits %v, want between %v and %v", tt.n, d, tt.least, tt.most)
			}
		}
		if len(seen) < 100 {
			t.Errorf("try %d: only %d different waits of 200: no jitter", tt.n, len(seen))
		}
	}
}
