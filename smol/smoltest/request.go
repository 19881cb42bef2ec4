package smoltest

import "path"

// Request is a request that the stand-in has seen.
type Request struct {
	// Method and Path are as sent, the path with its escapes; Query is what followed the question mark.
	Method, Path, Query string
	// Status is that of the response, 0 as long as there is none.
	Status int
	// Sent is how many bytes of the response's body were written so far.
	Sent int64
}

// Requests returns the requests seen since the start, or since [Local.ForgetRequests], oldest first. A client that has its answer finds its
// request here. Of more than 10,000 only the newest are kept.
func (l *Local) Requests() []Request {
	var out []Request
	for _, r := range l.host.Requests() {
		out = append(out, Request{Method: r.Method, Path: r.Path, Query: r.Query, Status: r.Status, Sent: r.Sent})
	}
	return out
}

// Count returns how many of the requests had the method and a path that matches the pattern, in which "*" stands for any one segment, as in
// path.Match: Count("POST", "/api/v1/machines/*/exec"). An empty method stands for all, and so does an empty pattern. A malformed pattern
// matches nothing.
func (l *Local) Count(method, pattern string) int {
	n := 0
	for _, r := range l.host.Requests() {
		ok, err := path.Match(pattern, r.Path)
		if (pattern == "" || ok && err == nil) && (method == "" || method == r.Method) {
			n++
		}
	}
	return n
}

// ForgetRequests empties what [Local.Requests] returns.
func (l *Local) ForgetRequests() { l.host.ForgetRequests() }
