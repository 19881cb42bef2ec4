package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a service whose answers the test writes. It listens on a Unix socket, or on loopback TCP where smolvm has no other.
type server struct {
	url string
	t   *testing.T

	mu   sync.Mutex
	seen []string // "METHOD uri body" of each request
}

// answers maps "METHOD /path", without /api/v1, to what is said.
type answers map[string]http.HandlerFunc

// serve starts a server. A request for which there is no answer fails the test.
func serve(t *testing.T, routes answers) *server {
	t.Helper()
	s := &server{t: t}
	l := s.listen()
	s.run(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.record(r)
		key := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/v1")
		if answer := routes[key]; answer != nil {
			answer(w, r)
			return
		}
		t.Errorf("unexpected request %s", key)
		w.WriteHeader(http.StatusTeapot)
	}))
	return s
}

// record notes a request and leaves it its body.
func (s *server) record(r *http.Request) {
	body := new(bytes.Buffer)
	if r.ContentLength < 1<<20 {
		_, _ = body.ReadFrom(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.RequestURI, "/api/v1")+" "+body.String()))
}

func (s *server) listen() net.Listener {
	s.t.Helper()
	if runtime.GOOS == "windows" {
		return s.listenOn("tcp", "127.0.0.1:0")
	}
	return s.listenOn("unix", socketPath(s.t))
}

func (s *server) listenOn(network, address string) net.Listener {
	s.t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = "unix://" + address
	if network == "tcp" {
		s.url = "http://" + l.Addr().String()
	}
	return l
}

// socketPath is short, as the directories of tests often are not.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "smol")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s.sock")
}

// run serves l with h until the test ends.
func (s *server) run(l net.Listener, h http.Handler) *http.Server {
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	s.t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return srv
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
func (s *server) backend() *local.Backend {
	s.t.Helper()
	b, err := local.NewBackend(&local.Options{URL: s.url})
	if err != nil {
		s.t.Fatal(err)
	}
	b.Hurry()
	s.t.Cleanup(func() { _ = b.Close() })
	return b
}

// says answers with JSON.
func says(body string) http.HandlerFunc { return saysStatus(http.StatusOK, body) }

func saysStatus(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Trace-Id", "00000001000000ff")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// fails answers with the service's envelope.
func fails(status int, code, text string) http.HandlerFunc {
	return saysStatus(status, fmt.Sprintf(`{"error":%q,"code":%q}`, text, code))
}

// gaveUp is the service's own time-out: a status and nothing else.
func gaveUp(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestTimeout) }

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

// machine is what the service says about the machine m.
func machine(state string) string {
	return `{"name":"m","state":"` + state + `","cpus":4,"memoryMb":8192,"mounts":[],"ports":[],"network":false,"gpu":false,"cuda":false,` +
		`"storageGb":20,"overlayGb":10,"forkable":false,"forkpointHeld":false,"createdAt":1790000000}`
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
