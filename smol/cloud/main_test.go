package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// token is the canary: it must turn up in requests to the service and nowhere else.
const token = "smk_canary-0123456789abcdef"

// id is a machine's.
const id = "mach-0123456789abcdef0123456789abcdef"

func TestMain(m *testing.M) {
	if os.Getenv("SMOL_TEST_CHILD") != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// server is a service whose answers the test writes.
type server struct {
	t   *testing.T
	url string

	mu   sync.Mutex
	seen []string // "METHOD uri body" of each request, without /v1
}

// answers maps "METHOD /path", without /v1 and the query, to what is said.
type answers map[string]http.HandlerFunc

// serve starts a server. A request for which there is no answer, or without the key, fails the test.
func serve(t *testing.T, routes answers) *server {
	t.Helper()
	s := &server{t: t}
	srv := httptest.NewServer(s.handler(routes))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *server) handler(routes answers) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.record(r)
		if got := r.Header.Get("Authorization"); got != "Bearer "+token {
			s.t.Errorf("%s %s came with the key %q", r.Method, r.URL, got)
		}
		w.Header().Set("X-Request-Id", "req-1")
		key := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/v1")
		if answer := routes[key]; answer != nil {
			answer(w, r)
			return
		}
		s.t.Errorf("unexpected request %s", key)
		w.WriteHeader(http.StatusTeapot)
	})
}

// record notes a request, with its body if that is JSON, and leaves it its body.
func (s *server) record(r *http.Request) {
	body := new(bytes.Buffer)
	if r.Header.Get("Content-Type") == "application/json" {
		_, _ = body.ReadFrom(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.RequestURI, "/v1")+" "+body.String()))
}

// requests returns what has arrived so far.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// count returns how many requests took that route.
func (s *server) count(route string) (n int) {
	for _, r := range s.requests() {
		method, rest, _ := strings.Cut(r, " ")
		uri, _, _ := strings.Cut(rest, " ")
		path, _, _ := strings.Cut(uri, "?")
		if method+" "+path == route {
			n++
		}
	}
	return n
}

// backend returns a client of the server that does not dawdle.
func (s *server) backend() *cloud.Backend {
	s.t.Helper()
	return s.service().Backend()
}

func (s *server) service() *cloud.Service {
	s.t.Helper()
	return newService(s.t, &cloud.Options{URL: s.url, Token: token})
}

func newService(t *testing.T, o *cloud.Options) *cloud.Service {
	t.Helper()
	svc, err := cloud.New(o)
	if err != nil {
		t.Fatal(err)
	}
	svc.Backend().Hurry()
	t.Cleanup(func() { _ = svc.Close() })
	return svc
}

// says answers with JSON.
func says(body string) http.HandlerFunc { return saysStatus(http.StatusOK, body) }

func saysStatus(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// fails answers with the newest form of an error.
func fails(status int, code, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":%q,"status":%d,"detail":%q,"code":%q}`, http.StatusText(status), status, text, code)
	}
}

// empty answers with a status and nothing else.
func empty(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// hangsUp ends the connection without an answer.
func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// inTurn answers each request by the next handler, and the last one from then on.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[0]
		if len(handlers) > 1 {
			handlers = handlers[1:]
		}
		mu.Unlock()
		h(w, r)
	}
}

// machine is what the service says about the machine with that id, and more.
func machine(state string, more ...string) string {
	return `{"id":"` + id + `","name":"web","state":"` + state + `","source":{"type":"image","reference":"alpine:3.20"},` +
		`"resources":{"cpus":1,"memoryMb":256},"network":{"mode":"blocked"},"createdAt":"2026-10-04T09:12:20Z"` + strings.Join(append([]string{""}, more...), ",") + `}`
}

func asError(t *testing.T, err error) *smol.Error {
	t.Helper()
	var e *smol.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T %v is no *smol.Error", err, err)
	}
	return e
}

// cancelled is a context that has ended.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// bodyOf returns the JSON body of the first request that took that route.
func (s *server) bodyOf(route string) (out map[string]any) {
	s.t.Helper()
	for _, r := range s.requests() {
		method, rest, _ := strings.Cut(r, " ")
		uri, body, _ := strings.Cut(rest, " ")
		path, _, _ := strings.Cut(uri, "?")
		if method+" "+path == route {
			if err := json.Unmarshal([]byte(body), &out); err != nil {
				s.t.Fatalf("%s: %v", r, err)
			}
			return out
		}
	}
	s.t.Fatalf("no request %s among %q", route, s.requests())
	return nil
}
