package smoltest

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/seen"
)

// Action is what a [Fault] does to a request.
type Action int

// The actions. Only Pass, LoseReply, Cut and Garble let the service do its work, unless the fault has Work set.
const (
	// Pass lets the request through, after the fault's delay.
	Pass Action = iota
	// Fail answers with the fault's status and body.
	Fail
	// LoseReply lets the service do the work and closes the connection without a byte of the reply.
	LoseReply
	// Cut sends the beginning of the reply, its header and the first After bytes of its body, and closes the connection.
	Cut
	// Hang never answers.
	Hang
	// Garble sends the reply with every byte of its body changed.
	Garble
	// Restart restarts the service and closes the connection without a byte of a reply.
	Restart
)

var actions = map[Action]fault.Action{
	Pass: fault.Pass, Fail: fault.Fail, LoseReply: fault.LoseReply, Cut: fault.Cut, Hang: fault.Hang, Garble: fault.Garble, Restart: fault.Restart,
}

// String returns the action's name, "lose reply" for example.
func (a Action) String() string {
	if f, ok := actions[a]; ok {
		return f.String()
	}
	return "unknown action"
}

// Fault is something that goes wrong with the requests that it is for. The zero value is for all of them and does nothing.
type Fault struct {
	// Method is the request's method. Empty: any.
	Method string
	// Path says which paths. What begins with "/" is a pattern for the whole path, in which "*" stands for any one segment:
	// "/api/v1/machines/*/exec" locally and "/v1/machines/*/exec" in the cloud are the commands of all machines, and "/exec" is the path of
	// nothing. Anything else is a part that the path contains: "exec". Empty: any.
	Path string
	// Nth is the first of those requests that is hit, counted from 1 and from when the fault was added. Zero: the first.
	Nth int
	// Times is how many are hit from then on. Zero: one if Nth is set, else all.
	Times int

	// Action is what happens. Zero: Pass.
	Action Action
	// Delay is how long it takes to begin.
	Delay time.Duration
	// Work lets the service do the work before Fail, Hang and Restart; its own reply is thrown away.
	Work bool
	// Status is what Fail answers. Zero: 500.
	Status int
	// ContentType and Body are what Fail sends with it. Empty: none is sent.
	ContentType, Body string
	// Header is sent by Fail as well, Retry-After for example. It must not be changed while the fault is there.
	Header http.Header
	// After is how many bytes of the body Cut lets through.
	After int64
}

func (f *Fault) fault() fault.Fault {
	return fault.Fault{
		Method: f.Method, Path: f.Path, Nth: f.Nth, Times: f.Times, Action: actions[f.Action], Delay: f.Delay, Work: f.Work,
		Status: f.Status, ContentType: f.ContentType, Body: f.Body, Header: f.Header, After: f.After,
	}
}

// text is the fault for people.
func (f *Fault) text() string {
	method, where := f.Method, f.Path
	if method == "" {
		method = "any method"
	}
	if where == "" {
		where = "any path"
	}
	return fmt.Sprintf("%s of %s %s", f.Action, method, where)
}

// check finds a pattern that can match nothing.
func (f *Fault) check() error {
	if _, err := path.Match(f.Path, ""); err != nil && strings.HasPrefix(f.Path, "/") {
		return fmt.Errorf("Fault.Path %q: %w", f.Path, err)
	}
	return nil
}

// checkFaults checks those of options, before anything is started.
func checkFaults(faults []Fault) error {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return fmt.Errorf("the fault at index %d of Faults: %w", i, err)
		}
	}
	return nil
}

// Armed is a fault that was added to a stand-in.
type Armed struct {
	armed *fault.Armed
	fault Fault
}

// missed says that the fault has hit nothing, and why that may be. It is empty if the fault has.
func (a *Armed) missed(requests []seen.Request) string {
	if a.armed.Fired() > 0 {
		return ""
	}
	if n := a.armed.Seen(); n > 0 {
		return fmt.Sprintf("the fault (%s) hit nothing: there were %d such requests", a.fault.text(), n)
	}
	if strings.HasPrefix(a.fault.Path, "/") {
		for _, r := range requests {
			if strings.Contains(r.Path, a.fault.Path) {
				return fmt.Sprintf("the fault (%s) hit nothing: a path with a / at its beginning is that of the whole request, such as %s", a.fault.text(), r.Path)
			}
		}
	}
	return fmt.Sprintf("the fault (%s) hit nothing: there was no such request", a.fault.text())
}

// Fired returns how many requests the fault has hit.
func (a *Armed) Fired() int { return a.armed.Fired() }
