package smol_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/fault"
)

// jsonPaths and bytePaths are the paths of each fleet that faults are for. A garbled download is believed, since nothing tells what a file should
// hold, so garbage comes only where JSON is expected.
var (
	jsonPaths = map[string][]string{
		"local": {"/exec", "/exec", "/exec", "/api/v1/machines", "/api/v1/machines/*", "/api/v1/machines/*", "/start", "/fork"},
		"cloud": {"/exec", "/exec", "/exec", "/v1/machines", "/v1/machines/*", "/v1/machines/*", "/start", "/branches", "/lineage"},
	}
	bytePaths  = []string{"", "", "files/", "files/", "machines"}
	faultVerbs = []string{"", "", "", "", "POST", "GET", "PUT", "DELETE"}
)

var (
	// Those that say that nothing was done do not come after the work, and none says that something is not there that is: a service that
	// lies is believed.
	refusals = []int{400, 401, 403, 409, 413, 422, 429, 429}
	failures = []int{408, 500, 500, 502, 503, 504}
	delays   = []time.Duration{0, 0, 0, 10 * time.Millisecond, 700 * time.Millisecond, 4 * time.Second, 40 * time.Second, 10 * time.Minute}
	bodies   = [][2]string{
		{"", ""},
		{"application/json", `{"error":"on purpose","code":"INTERNAL_ERROR"}`},
		{"application/problem+json", `{"title":"no","status":500,"detail":"on purpose","code":"INTERNAL"}`},
		{"text/html", "<html><h1>Bad Gateway</h1></html>"},
		{"application/json", `{"error":`},
	}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// part is the end of a path of one segment, as a pattern: what begins with "/" is for a whole path.
func part(path string) string {
	if strings.Count(path, "/") == 1 {
		return strings.TrimPrefix(path, "/")
	}
	return path
}

// newFault makes up a fault.
func newFault(r *rand.Rand, fleet string) fault.Fault {
	f := fault.Fault{
		Method: pick(r, faultVerbs), Path: part(pick(r, append(bytePaths, jsonPaths[fleet]...))), Delay: pick(r, delays), Work: r.IntN(2) == 0,
		Action: fault.Action(r.IntN(int(fault.Restart) + 1)),
	}
	if r.IntN(8) > 0 {
		f.Nth, f.Times = 1+r.IntN(3), 1+r.IntN(3)
	}
	switch f.Action {
	case fault.Fail:
		f.Status = pick(r, failures)
		if !f.Work {
			f.Status = pick(r, append(refusals, failures...))
		}
		body := pick(r, bodies)
		f.ContentType, f.Body = body[0], body[1]
		if f.Status == http.StatusTooManyRequests && r.IntN(2) == 0 {
			f.Header = http.Header{"Retry-After": {pick(r, []string{"0", "1", "20", "3600", "soon"})}}
		}
	case fault.Cut:
		f.After = pick(r, []int64{0, 1, 10, 100, 1000})
	case fault.Garble:
		f.Path = part(pick(r, jsonPaths[fleet]))
	}
	return f
}

// describe tells of a fault in a line.
func describe(f *fault.Fault) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q from the %d., %d times", f.Action, f.Method, f.Path, f.Nth, f.Times)
	if f.Delay > 0 {
		fmt.Fprintf(&b, ", after %s", f.Delay)
	}
	if f.Work {
		b.WriteString(", after the work")
	}
	switch f.Action {
	case fault.Fail:
		fmt.Fprintf(&b, ", %d %s %q %v", f.Status, f.ContentType, f.Body, f.Header)
	case fault.Cut:
		fmt.Fprintf(&b, ", %d bytes", f.After)
	}
	return b.String()
}
