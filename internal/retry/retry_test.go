package retry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network answers requests in turn, the last answer from then on, and notes what it was sent and when.
type network struct {
	answers []answer
	peek    func() // called before a body is read

	mu     sync.Mutex
	bodies []string
	at     []time.Time
	closed int // answers whose bodies were closed
	idle   int // calls of CloseIdleConnections
}

type answer struct {
	status     int
	retryAfter string
	body       string
	err        error
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	if n.peek != nil {
		n.peek()
	}
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.answers[min(len(n.bodies), len(n.answers)-1)]
	n.bodies, n.at = append(n.bodies, string(body)), append(n.at, time.Now())
	if a.err != nil {
		return nil, a.err
	}
	resp := &http.Response{
		StatusCode: a.status, Header: http.Header{}, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Body: &answerBody{Reader: strings.NewReader(a.body), n: n},
	}
	if a.retryAfter != "" {
		resp.Header.Set("Retry-After", a.retryAfter)
	}
	return resp, nil
}

func (n *network) CloseIdleConnections() { n.idle++ }

type answerBody struct {
	io.Reader
	n *network
}

func (b *answerBody) Close() error {
	b.n.mu.Lock()
	defer b.n.mu.Unlock()
	b.n.closed++
	return nil
}

// send sends a request under the policy and returns the status and body of the answer.
func send(ctx context.Context, n *network, p retry.Policy, method string, body io.Reader) (int, string, *retry.Plan, error) {
	ctx, plan := retry.With(ctx, p)
	req, err := http.NewRequestWithContext(ctx, method, "http://service.test/x", body)
	if err != nil {
		return 0, "", plan, err
	}
	resp, err := retry.New(n).RoundTrip(req)
	if err != nil {
		return 0, "", plan, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, string(text), plan, err
}

func TestSentAgain(t *testing.T) {
	busy := answer{status: 503, body: `{"error":"busy"}`}
	broken := answer{status: 500, body: `{"detail":"no luck"}`}
	limited := answer{status: 429, retryAfter: "2", body: `{"detail":"slow down"}`}
	cut := answer{err: io.ErrUnexpectedEOF}
	fine := answer{status: 200, body: "fine"}
	for _, tt := range []struct {
		name    string
		policy  retry.Policy
		method  string
		answers []answer
		want    answer
		sent    int
		least   time.Duration // of the whole
	}{
		{"a question is asked again", retry.Question, "GET", []answer{broken, busy, fine}, fine, 3, 500 * time.Millisecond},
		{"not for ever, and its last answer is kept", retry.Question, "GET", []answer{busy}, busy, 3, 500 * time.Millisecond},
		{"after a cut", retry.Idempotent, "DELETE", []answer{cut, fine}, fine, 2, 0},
		{"cut each time", retry.Idempotent, "DELETE", []answer{cut}, cut, 3, 0},
		{"a POST answered 500 is not", retry.Refused, "POST", []answer{broken, fine}, broken, 1, 0},
		{"nor one that is cut", retry.Refused, "POST", []answer{cut, fine}, cut, 1, 0},
		{"nor one answered 503", retry.Refused, "POST", []answer{busy, fine}, busy, 1, 0},
		{"an idempotent one answered 500 is not", retry.Idempotent, "POST", []answer{broken, fine}, broken, 1, 0},
		{"a POST that was refused waits as asked", retry.Refused, "POST", []answer{limited, fine}, fine, 2, 2 * time.Second},
		{"as often as any other", retry.Refused, "POST", []answer{limited}, limited, 3, 4 * time.Second},
		{"without a policy never", retry.Never, "GET", []answer{limited, fine}, limited, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{answers: tt.answers}
				began := time.Now()
				status, body, plan, err := send(t.Context(), n, tt.policy, tt.method, strings.NewReader("the body"))
				if !errors.Is(err, tt.want.err) || status != tt.want.status || body != tt.want.body {
					t.Errorf("got %d %q %v, want %d %q %v", status, body, err, tt.want.status, tt.want.body, tt.want.err)
				}
				want := make([]string, tt.sent)
				for i := range want {
					want[i] = "the body"
				}
				if diff := cmp.Diff(want, n.bodies); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
				if plan.Sent() != tt.sent {
					t.Errorf("the plan says %d were sent, and it was %d", plan.Sent(), tt.sent)
				}
				if took := time.Since(began); took < tt.least || took > tt.least+2*time.Second {
					t.Errorf("took %v, want at least %v", took, tt.least)
				}
				if n.idle > 0 {
					t.Error("closed the connections of other calls")
				}
			})
		})
	}
}

func TestAnswersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answers: []answer{{status: 503}, {status: 503}, {status: 200}}}
		if _, _, _, err := send(t.Context(), n, retry.Question, "GET", nil); err != nil {
			t.Fatal(err)
		}
		if n.closed != 3 {
			t.Errorf("%d of 3 answers were closed", n.closed)
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answers: []answer{{status: 429, retryAfter: "10"}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, _, _, err := send(ctx, n, retry.Refused, "POST", strings.NewReader("x"))
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v, want the context's error at its end", err, time.Since(began))
		}
		if len(n.bodies) != 1 || n.closed != 1 {
			t.Errorf("sent %d times, closed %d", len(n.bodies), n.closed)
		}
	})
}

// A wait that the context would cut short gives the caller the refusal at once: it says more than the context's error.
func TestNoWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answers: []answer{{status: 429, retryAfter: "10", body: "later"}}}
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		began := time.Now()
		status, body, _, err := send(ctx, n, retry.Question, "GET", nil)
		if status != 429 || body != "later" || err != nil || time.Since(began) != 0 {
			t.Errorf("%d %q %v after %v", status, body, err, time.Since(began))
		}
	})
}

// stream is a body that cannot be had twice.
type stream struct {
	io.Reader
	read, closed int
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.read += n
	return n, err
}

func (s *stream) Close() error {
	s.closed++
	return nil
}

// A stream goes over the plain transport whatever its policy is: nothing of it is read before it is wanted, and it is sent once.
func TestStreamsAreSentOnce(t *testing.T) {
	body := &stream{Reader: bytes.NewReader(make([]byte, 1<<20))}
	n := &network{answers: []answer{{status: 503, body: "busy"}}}
	n.peek = func() {
		if body.read > 0 {
			t.Errorf("%d bytes were read before the first was sent", body.read)
		}
	}
	status, text, plan, err := send(t.Context(), n, retry.Question, "PUT", body)
	if status != 503 || text != "busy" || err != nil || plan.Sent() != 1 || len(n.bodies) != 1 {
		t.Errorf("%d %q %v, sent %d times", status, text, err, len(n.bodies))
	}
	if body.read != 1<<20 {
		t.Errorf("%d bytes were read", body.read)
	}
}

// The request is the caller's: it is not written, and its body is closed once and for all.
func TestRequestStaysTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{answers: []answer{{status: 503}, {status: 200}}}
		ctx, _ := retry.With(t.Context(), retry.Idempotent)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service.test/x", strings.NewReader("abc"))
		if err != nil {
			t.Fatal(err)
		}
		body := &stream{Reader: strings.NewReader("abc")}
		req.Body = body
		before := *req
		resp, err := retry.New(n).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if req.Body != before.Body || req.ContentLength != before.ContentLength || req.Context() != before.Context() {
			t.Error("the request was written")
		}
		if body.closed != 1 {
			t.Errorf("the body was closed %d times", body.closed)
		}
		if diff := cmp.Diff([]string{"abc", "abc"}, n.bodies); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}

func TestRedirectsComeBack(t *testing.T) {
	n := &network{answers: []answer{{status: 307, body: "elsewhere"}}}
	status, body, _, err := send(t.Context(), n, retry.Question, "GET", nil)
	if status != 307 || body != "elsewhere" || err != nil || len(n.bodies) != 1 {
		t.Errorf("%d %q %v, sent %d times", status, body, err, len(n.bodies))
	}
}

func TestCloseIdleConnections(t *testing.T) {
	n := &network{}
	(&http.Client{Transport: retry.New(n)}).CloseIdleConnections()
	if n.idle != 1 {
		t.Errorf("passed on %d times", n.idle)
	}
}
