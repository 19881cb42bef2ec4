package cloud_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// inMemory answers requests by a handler without a network, so that time can be false.
type inMemory struct {
	handler http.Handler

	mu   sync.Mutex
	seen []string
	at   []time.Time
}

func (m *inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.seen, m.at = append(m.seen, req.Method+" "+strings.TrimPrefix(req.URL.Path, "/v1")), append(m.at, time.Now())
	m.mu.Unlock()
	if req.Body == nil {
		req.Body = http.NoBody
	}
	defer func() { _ = req.Body.Close() }()
	w := httptest.NewRecorder()
	if err := serveInMemory(m.handler, w, req); err != nil {
		return nil, err
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// serveInMemory has the error of a connection that the handler has cut.
func serveInMemory(h http.Handler, w *httptest.ResponseRecorder, req *http.Request) (err error) {
	defer func() {
		if recover() != nil {
			err = io.ErrUnexpectedEOF
		}
	}()
	h.ServeHTTP(w, req)
	return nil
}

// count is how many requests took that route.
func (m *inMemory) count(route string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seen {
		if s == route {
			n++
		}
	}
	return n
}

// dialog returns a service that answers by the routes, in false time. It is not hurried.
func dialog(t *testing.T, routes answers) (*inMemory, *cloud.Service) {
	t.Helper()
	s := &server{t: t}
	m := &inMemory{handler: s.handler(routes)}
	svc, err := cloud.New(&cloud.Options{URL: "https://cloud.test", Token: token, HTTPClient: &http.Client{Transport: m}})
	if err != nil {
		t.Fatal(err)
	}
	return m, svc
}

func limited(after string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		fails(http.StatusTooManyRequests, "too_many_requests", "slow down")(w, r)
	}
}

// TestSentAgain counts the requests that arrive at the service, per operation and answer.
func TestSentAgain(t *testing.T) {
	cut, busy, broken := http.HandlerFunc(hangsUp), empty(http.StatusServiceUnavailable), fails(http.StatusInternalServerError, "internal", "broken")
	for _, tt := range []struct {
		op                                     string
		cut, busy, broken, refused, refusedNow int // how often it is sent
	}{
		{"inspect", 3, 3, 3, 3, 3},
		{"list", 3, 3, 3, 3, 3},
		{"usage", 3, 3, 3, 3, 3},
		{"events", 3, 3, 3, 3, 3},
		{"logs", 3, 3, 3, 3, 3},
		{"read file", 3, 3, 3, 3, 3},
		{"account", 3, 3, 3, 3, 3},
		{"health", 3, 3, 3, 3, 3},
		{"stop", 3, 3, 1, 3, 3},
		{"delete", 3, 3, 1, 3, 3},
		{"create", 1, 1, 1, 3, 1},
		{"start", 1, 1, 1, 3, 1},
		{"exec", 1, 1, 1, 3, 1},
		{"stream", 1, 1, 1, 3, 1},
		{"branch", 1, 1, 1, 3, 1},
		{"write file", 1, 1, 1, 1, 1},
	} {
		for _, c := range []struct {
			name   string
			answer http.HandlerFunc
			want   int
		}{
			{"cut", cut, tt.cut},
			{"503", busy, tt.busy},
			{"500", broken, tt.broken},
			{"429 with Retry-After", limited("2"), tt.refused},
			{"429 without", limited(""), tt.refusedNow},
		} {
			synctest.Test(t, func(t *testing.T) {
				m := &inMemory{handler: c.answer}
				svc, err := cloud.New(&cloud.Options{URL: "https://cloud.test", Token: token, HTTPClient: &http.Client{Transport: m}})
				if err != nil {
					t.Fatal(err)
				}
				for _, op := range everything {
					if op.name == tt.op {
						err = op.do(t.Context(), svc.Backend(), id)
					}
				}
				if err == nil {
					t.Errorf("%s, %s: succeeded", tt.op, c.name)
				}
				// What follows a request, such as the question what became of it, does not count.
				first := m.seen[0]
				if n := m.count(first); n != c.want {
					t.Errorf("%s, %s: %s was sent %d times, want %d", tt.op, c.name, first, n, c.want)
				}
			})
		}
	}
}

// TestCreateThatIsRefusedForNow: the service has done nothing and says when to come again. One machine is made, and not before that.
func TestCreateThatIsRefusedForNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		m, svc := dialog(t, answers{
			"POST /machines": inTurn(limited("2"), func(w http.ResponseWriter, r *http.Request) {
				made++
				saysStatus(http.StatusCreated, machine("stopped"))(w, r)
			}),
		})
		info, err := svc.Backend().Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine"})
		if err != nil || info.ID != id || made != 1 || m.count("POST /machines") != 2 {
			t.Fatalf("%v, %v: %d machines after %d requests", info, err, made, m.count("POST /machines"))
		}
		if waited := m.at[1].Sub(m.at[0]); waited < 2*time.Second || waited > 2500*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestRefusalTellsWhen: whoever is refused for good is told when to come again.
func TestRefusalTellsWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, svc := dialog(t, answers{"GET /machines/" + id: limited("60")})
		_, err := svc.Machine(id).Info(t.Context())
		e := asError(t, err)
		if e.Code != smol.CodeRateLimited || e.RetryAfter != time.Minute || e.ServerCode != "too_many_requests" || len(m.seen) != 1 {
			t.Errorf("%#v after %d requests", e, len(m.seen))
		}
	})
}
