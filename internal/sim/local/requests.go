package local

import (
	"io"
	"net/http"
	"path"
	"slices"
	"sync"
)

// keptRequests is how many requests a server remembers.
const keptRequests = 10000

// Request is a request that a server has seen.
type Request struct {
	// Method and Path are as sent, the path with its escapes and without the query string, which is Query.
	Method, Path, Query string
	// Status is 0 until the response's headers have been sent.
	Status int
	// Sent is the number of bytes of the response's body.
	Sent int64
}

// recorder remembers requests from when they arrive, so that a client that has its answer finds its request counted.
type recorder struct {
	mu   sync.Mutex
	list []*Request
}

func (c *recorder) add(r *http.Request) *Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == keptRequests {
		c.list = slices.Delete(c.list, 0, keptRequests/2)
	}
	q := &Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery}
	c.list = append(c.list, q)
	return q
}

// Requests returns the requests seen, oldest first; of very many only the newest.
func (s *Server) Requests() []Request {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	var out []Request
	for _, q := range s.requests.list {
		out = append(out, *q)
	}
	return out
}

// Count returns how many requests had the method and a path that matches pattern, as path.Match does: "*" stands for any one segment. An empty
// method stands for all. A malformed pattern matches nothing.
func (s *Server) Count(method, pattern string) int {
	n := 0
	for _, q := range s.Requests() {
		if ok, err := path.Match(pattern, q.Path); ok && err == nil && (method == "" || method == q.Method) {
			n++
		}
	}
	return n
}

// ForgetRequests empties what [Server.Requests] returns.
func (s *Server) ForgetRequests() {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	s.requests.list = nil
}

// responseWriter notes what is sent.
type responseWriter struct {
	http.ResponseWriter
	rec *recorder
	req *Request
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseWriter) WriteHeader(status int) {
	w.rec.mu.Lock()
	if w.req.Status == 0 {
		w.req.Status = status
	}
	w.rec.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	w.sent(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

// ReadFrom leaves a copy from a file to the kernel where net/http can. What is sent counts when it has been.
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(w.ResponseWriter, r)
	w.sent(n)
	return n, err
}

// sent counts bytes of the body.
func (w *responseWriter) sent(n int64) {
	w.rec.mu.Lock()
	defer w.rec.mu.Unlock()
	if w.req.Status == 0 {
		w.req.Status = http.StatusOK
	}
	w.req.Sent += n
}
