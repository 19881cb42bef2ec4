package rest_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rawServer is a TCP listener whose connections are served by hand, so that it can answer what no HTTP server would.
type rawServer struct {
	addr string
	mu   sync.Mutex
	seen []string // method and path of each request that arrived
}

// serve starts a server; handle gets every connection and a function that reads one request with its body.
func serve(t *testing.T, handle func(c net.Conn, next func() *http.Request)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{addr: l.Addr().String()}
	var wg sync.WaitGroup
	var conns sync.Map
	t.Cleanup(func() {
		_ = l.Close()
		conns.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Store(c, nil)
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				handle(c, func() *http.Request { return s.next(r) })
			})
		}
	})
	return s
}

func (s *rawServer) next(r *bufio.Reader) *http.Request {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	s.seen = append(s.seen, req.Method+" "+req.RequestURI)
	s.mu.Unlock()
	return req
}

// requests returns what has arrived so far.
func (s *rawServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// answering serves every request with the same bytes.
func answering(t *testing.T, reply string) *rawServer {
	t.Helper()
	return serve(t, func(c net.Conn, next func() *http.Request) {
		for req := next(); req != nil; req = next() {
			_, _ = io.Copy(io.Discard, req.Body)
			if _, err := io.WriteString(c, reply); err != nil {
				return
			}
		}
	})
}

// client returns a client of the server.
func (s *rawServer) client(t *testing.T) *rest.Client {
	t.Helper()
	var d net.Dialer
	c := rest.New(&rest.Config{
		Base: &url.URL{Scheme: "http", Host: s.addr},
		Transport: rest.NewTransport(func(ctx context.Context, _, address string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", address)
		}),
		Header:    http.Header{"User-Agent": {"smol-test"}},
		RequestID: "X-Trace-Id",
	})
	t.Cleanup(c.Close)
	return c
}
