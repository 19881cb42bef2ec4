// Package seen remembers the requests that a server has answered, as their clients see them.
package seen

import (
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

// kept is how many requests a [Log] remembers at most.
const kept = 10000

// Request is a request that was seen.
type Request struct {
	// Method and Path are as sent, the path with its escapes and without the query string, which is Query. The value of an access_token
	// in it is left out: it is a secret.
	Method, Path, Query string
	// Status is 0 until the response's headers have been sent.
	Status int
	// Sent is the number of bytes of the response's body.
	Sent int64
}

// Log remembers requests from when they arrive, so that a client that has its answer finds its request counted. The zero value is
// empty. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	list []*Request
}

// Wrap returns a handler that calls next and notes what is asked and sent.
func (l *Log) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(l.Note(w, r), r) })
}

// Note remembers the request and returns the writer through which it is to be answered.
func (l *Log) Note(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	q := &Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: redact(r.URL.RawQuery)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == kept {
		l.list = slices.Delete(l.list, 0, kept/2)
	}
	l.list = append(l.list, q)
	return &writer{w, l, q}
}

// redact takes the secret out of a query string.
func redact(query string) string {
	if !strings.Contains(query, "access_token") {
		return query
	}
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		if name, _, _ := strings.Cut(p, "="); name == "access_token" {
			pairs[i] = name + "="
		}
	}
	return strings.Join(pairs, "&")
}

// All returns the requests seen, oldest first; of very many only the newest.
func (l *Log) All() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Request, 0, len(l.list))
	for _, q := range l.list {
		list = append(list, *q)
	}
	return list
}

// Count returns how many requests had the method and a path that matches pattern, as path.Match does: "*" stands for any one segment. An
// empty method stands for all, and so does an empty pattern. A malformed pattern matches nothing.
func (l *Log) Count(method, pattern string) int {
	n := 0
	for _, q := range l.All() {
		ok, err := path.Match(pattern, q.Path)
		if (pattern == "" || ok && err == nil) && (method == "" || method == q.Method) {
			n++
		}
	}
	return n
}

// Forget empties the log.
func (l *Log) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// writer notes what is sent.
type writer struct {
	http.ResponseWriter
	log *Log
	req *Request
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) note(status int, n int64) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.req.Status == 0 {
		w.req.Status = status
	}
	w.req.Sent += n
}

func (w *writer) WriteHeader(status int) {
	w.note(status, 0)
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.note(http.StatusOK, int64(len(b)))
	return w.ResponseWriter.Write(b)
}

// ReadFrom keeps the way from a file to a socket that avoids a copy. Its bytes are counted when all are sent.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	w.note(http.StatusOK, 0)
	n, err := io.Copy(w.ResponseWriter, r)
	w.note(http.StatusOK, n)
	return n, err
}
