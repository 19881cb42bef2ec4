// Package fault makes a stand-in fail on purpose. An [Injector] stands before an HTTP handler and does to chosen requests what a bad day does:
// it answers with an error, is slow, loses the reply of work that was done, cuts it short, garbles it, never answers, or has the
// service restarted.
//
// All of it is for HTTP/1.1, where a connection carries one request at a time.
package fault

import (
	"net/http"
	"path"
	"strings"
	"time"
)

// Action is what happens to a request.
type Action int

// The actions. Unless a fault has Work set, only Pass, LoseReply, Cut and Garble let the handler see the request.
const (
	// Pass lets the request through, after the fault's delay.
	Pass Action = iota
	// Fail answers with the fault's status, content type and body.
	Fail
	// LoseReply lets the handler do its work and closes the connection without a byte of the reply.
	LoseReply
	// Cut sends the reply's header and the first After bytes of its body, and closes the connection.
	Cut
	// Hang never answers: it waits until the client or the injector closes.
	Hang
	// Garble sends the reply with every byte of its body changed; the header stays as it is.
	Garble
	// Restart calls the fault's Call, which may close the server, and closes the connection without a byte.
	Restart
)

// String returns the action's name.
func (a Action) String() string {
	names := [...]string{"pass", "fail", "lose reply", "cut", "hang", "garble", "restart"}
	if a < 0 || int(a) >= len(names) {
		return "unknown action"
	}
	return names[a]
}

// Fault says which requests are hit, and how. The zero value hits all and changes nothing.
type Fault struct {
	// Method is the request's method. Empty: any.
	Method string
	// Path is a pattern for the path as it was sent. If it begins with "/" it is matched as by path.Match, so that "*" stands for any one
	// segment; else the path must contain it. Empty: any.
	Path string
	// Nth is which of the matching requests is hit first, counting from 1 and from when the fault was added. Zero: the first.
	Nth int
	// Times is how many matching requests are hit from the Nth on. Zero: one if Nth is set, else all.
	Times int

	// Action is what happens.
	Action Action
	// Delay is how long that takes to begin. It ends early when the client or the injector closes.
	Delay time.Duration
	// Work lets the handler do its work before Fail, Hang and Restart; its reply is thrown away. The other actions do it anyway, once.
	Work bool
	// Status, ContentType and Body are the answer of Fail. Zero status: 500. Empty content type: none is sent.
	Status            int
	ContentType, Body string
	// Header is sent by Fail as well, Retry-After for example. It is not changed while the fault is there.
	Header http.Header
	// After is how many bytes of the body Cut lets through.
	After int64
	// Call is what Restart calls, on a goroutine of its own. [Injector.Close] waits for it.
	Call func()
}

// matches reports whether a request is one that the fault counts.
func (f *Fault) matches(r *http.Request) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	p := r.URL.EscapedPath()
	if strings.HasPrefix(f.Path, "/") {
		ok, err := path.Match(f.Path, p)
		return ok && err == nil
	}
	return strings.Contains(p, f.Path)
}

// hits reports whether the nth matching request is hit.
func (f *Fault) hits(nth int) bool {
	first, times := max(f.Nth, 1), f.Times
	if times == 0 && f.Nth > 0 {
		times = 1
	}
	return nth >= first && (times == 0 || nth < first+times)
}

// works reports whether the handler does its work before the action, which throws its reply away.
func (f *Fault) works() bool {
	switch f.Action {
	case Fail, Hang, Restart:
		return f.Work
	}
	return f.Action == LoseReply
}
