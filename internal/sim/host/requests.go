package host

import (
	"net/http"
	"slices"
	"sync"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// kept is how many requests a host remembers.
const kept = 10000

// recorder remembers requests as their clients see them: also those that a fault kept from the server, and with the status that left, not
// the one that a fault lost.
type recorder struct {
	mu   sync.Mutex
	list []*local.Request
}

func (c *recorder) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&recorded{w, c, c.add(r)}, r)
	})
}

func (c *recorder) add(r *http.Request) *local.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == kept {
		c.list = slices.Delete(c.list, 0, kept/2)
	}
	q := &local.Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery}
	c.list = append(c.list, q)
	return q
}

func (c *recorder) all() []local.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]local.Request, 0, len(c.list))
	for _, q := range c.list {
		list = append(list, *q)
	}
	return list
}

func (c *recorder) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = nil
}

// recorded notes what leaves.
type recorded struct {
	http.ResponseWriter
	rec *recorder
	req *local.Request
}

// Unwrap is for http.ResponseController.
func (w *recorded) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorded) WriteHeader(status int) {
	w.note(status, 0)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorded) Write(b []byte) (int, error) {
	w.note(http.StatusOK, len(b))
	return w.ResponseWriter.Write(b)
}

func (w *recorded) note(status, n int) {
	w.rec.mu.Lock()
	defer w.rec.mu.Unlock()
	if w.req.Status == 0 {
		w.req.Status = status
	}
	w.req.Sent += int64(n)
}
