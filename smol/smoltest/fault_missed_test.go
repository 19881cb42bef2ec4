package smoltest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol/smoltest"
)

// ended is a test that ends when it is told to and whose log can be looked at.
type ended struct {
	testing.TB
	logs, errs []string
	cleanups   []func()
}

func (r *ended) Helper()          {}
func (r *ended) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *ended) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func (r *ended) Errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}

func (r *ended) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

// TestFaultsThatHitNothing wants the log of a test to tell of faults that it waits for in vain, and of no others.
func TestFaultsThatHitNothing(t *testing.T) {
	const health = "/health"
	rows := []struct {
		fault smoltest.Fault
		log   string // of a test with two requests for health; empty: nothing
	}{
		{smoltest.Fault{Path: health}, ""},
		{smoltest.Fault{Path: "/*"}, ""},
		{smoltest.Fault{Path: "ealt"}, ""},
		{smoltest.Fault{Path: "/hea", Action: smoltest.Fail}, `smoltest: the fault (fail of any method /hea) hit nothing: a path with a / at its beginning is ` +
			`that of the whole request, such as /health`},
		{smoltest.Fault{Method: "PUT"}, "smoltest: the fault (pass of PUT any path) hit nothing: there was no such request"},
		{smoltest.Fault{Path: "exec"}, "smoltest: the fault (pass of any method exec) hit nothing: there was no such request"},
		{smoltest.Fault{Path: health, Nth: 3}, "smoltest: the fault (pass of any method /health) hit nothing: there were 2 such requests"},
	}
	for _, r := range rows {
		tb := &ended{TB: t}
		l := smoltest.NewLocal(tb, &smoltest.Options{Guest: smoltest.Script(nil), Faults: []smoltest.Fault{r.fault}})
		for range 2 {
			if status, _, err := raw(t.Context(), l, "GET", health, ""); status != 200 || err != nil {
				t.Errorf("%v: %d, %v", r.fault, status, err)
			}
		}
		l.ClearFaults() // which does not hide it
		tb.end()
		var want []string
		if r.log != "" {
			want = []string{r.log}
		}
		if diff := cmp.Diff(want, tb.logs); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
		if len(tb.errs) > 0 {
			t.Errorf("errors: %q", tb.errs)
		}
	}
}

// TestMalformedFault is a test that fails, as it would wait for the fault in vain.
func TestMalformedFault(t *testing.T) {
	tb := &ended{TB: t}
	l := smoltest.NewLocal(tb, &smoltest.Options{Guest: smoltest.Script(nil)})
	l.Fault(smoltest.Fault{Path: "/["})
	tb.end()
	faults := []smoltest.Fault{{}, {Path: "/["}}
	if _, err := smoltest.StartLocal(&smoltest.Options{Guest: smoltest.Script(nil), Faults: faults}); err == nil {
		t.Error("the local stand-in was started")
	}
	if _, err := smoltest.StartCloud(&smoltest.CloudOptions{Guest: smoltest.Script(nil), Faults: faults}); err == nil {
		t.Error("the stand-in of the cloud was started")
	}
	if diff := cmp.Diff([]string{`smoltest: Fault.Path "/[": syntax error in pattern`}, tb.errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
