package smoltest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

// BackendOptions say what [TestBackend] tests. New is required.
type BackendOptions struct {
	// New returns the fleet, once for a run of the suite. It is closed by whoever made it.
	New func(tb testing.TB) *smol.Fleet
	// Image is the image of the machines. Empty: bare machines, on a fleet that has them.
	Image string
	// Prefix begins the name of every machine, at most 32 bytes. When the suite begins and when it ends there must be no machine of that prefix;
	// what is left at its end is deleted and reported. Empty: "suite-" and 8 hexadecimal digits.
	Prefix string
	// Many is how many machines the list has to show at once. They are not booted. Zero: 120. Negative: that is not tested.
	Many int
	// Timeout bounds each row. Zero: 2 minutes.
	Timeout time.Duration
	// Fault makes a request of the service go wrong, as that of [Local] and [Cloud] do. Nil: what needs it is not tested.
	Fault func(Fault) *Armed
	// Each is called at the beginning of each row; what it adds to the Cleanup of the test happens at the row's end. Nil: nothing.
	Each func(tb testing.TB)
	// Only restricts the suite to rows whose name contains it. Empty: all.
	Only string
}

// TestBackend holds a fleet to every promise of [smol.Backend] and of the library above it, each as a subtest. Rows about a capability that the
// fleet lacks are skipped; the log lists them. The machines run the commands of [BackendGuest], which all machines with a POSIX shell know.
func TestBackend(t *testing.T, o *BackendOptions) {
	t.Helper()
	s := newSuite(t, o)
	defer s.end(t)
	for _, row := range s.rows() {
		t.Run(row.name, func(t *testing.T) { s.run(t, row) })
	}
}

// Failure is a promise that a fleet did not keep.
type Failure struct {
	// Row is the name of the row, "exec/exit codes" for example.
	Row string
	// Text is what was wrong.
	Text string
}

// CheckBackend runs the suite of [TestBackend] where there is no test, or where it is expected to fail, as with [Mutants]: it yields what fails.
// Leaving the range ends the suite. When ctx ends the rows fail.
func CheckBackend(ctx context.Context, o *BackendOptions) iter.Seq[Failure] {
	return func(yield func(Failure) bool) {
		whole := newRecorder(ctx, "suite")
		left := false
		report := func(name string, r *recorder) {
			for _, text := range r.finish() {
				left = left || !yield(Failure{Row: name, Text: text})
			}
		}
		defer func() {
			if !left {
				report("end", whole)
			} else {
				whole.finish()
			}
		}()
		var s *suite
		if whole.do(time.Minute, func() { s = newSuite(whole, o) }); s == nil {
			return
		}
		for _, row := range s.rows() {
			r := newRecorder(ctx, row.name)
			r.do(s.o.Timeout+5*time.Second, func() { s.run(r, row) })
			if report(row.name, r); left {
				s.sweep(whole)
				return
			}
		}
		whole.do(2*time.Minute, func() { s.end(whole) })
	}
}

// row is one promise.
type row struct {
	name string
	run  func(r *rowTest)
}

// slowRows take a second or more each. They come late, so that a fault that others find is found soon.
var slowRows = []row{
	{"exec/timeout", testExecTimeout},
	{"command/timeout", testCommandTimeout},
	{"create/cancelled before", testCreateCancelled},
	{"list/many", testListMany},
}

// suite is one run of the rows on a fleet.
type suite struct {
	o     BackendOptions
	fleet *smol.Fleet

	mu      sync.Mutex
	skipped map[string]string
}

func newSuite(tb testing.TB, o *BackendOptions) *suite {
	tb.Helper()
	s := &suite{o: *o, skipped: map[string]string{}}
	if s.o.Prefix == "" {
		s.o.Prefix = "suite-" + randhex.String(4)
	}
	if len(s.o.Prefix) > 32 {
		tb.Fatalf("smoltest: BackendOptions.Prefix has %d bytes; at most 32 are allowed", len(s.o.Prefix))
	}
	if s.o.Many == 0 {
		s.o.Many = 120
	}
	if s.o.Timeout == 0 {
		s.o.Timeout = 2 * time.Minute
	}
	s.fleet = o.New(tb)
	return s
}

// rows are those that were asked for.
func (s *suite) rows() []row {
	all := slices.Concat(execRows, createRows, listRows, lifeRows, commandRows, jobRows, fileRows, treeRows, capabilityRows, slowRows, lostRows)
	return slices.DeleteFunc(all, func(r row) bool { return !strings.Contains(r.name, s.o.Only) })
}

// run runs one row.
func (s *suite) run(tb testing.TB, row row) {
	tb.Helper()
	if s.o.Each != nil {
		s.o.Each(tb)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), s.o.Timeout)
	tb.Cleanup(cancel)
	row.run(&rowTest{TB: tb, suite: s, name: row.name, ctx: ctx, backend: s.fleet.Backend()})
}

// end reports what was skipped and what is left.
func (s *suite) end(tb testing.TB) {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.skipped)) {
		tb.Logf("not tested on the %s fleet: %s: %s", s.fleet.Backend().Traits().Fleet, name, s.skipped[name])
	}
	for _, name := range s.sweep(tb) {
		tb.Errorf("machine %s is left", name)
	}
}

// sweep deletes the machines of the prefix and returns their names.
func (s *suite) sweep(tb testing.TB) (names []string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), time.Minute)
	defer cancel()
	var left []*smol.Machine
	for info, err := range s.fleet.List(ctx, nil) {
		if err != nil {
			tb.Errorf("what machines are left cannot be told: %v", err)
			return names
		}
		if strings.HasPrefix(info.Name, s.o.Prefix) {
			names, left = append(names, info.Name), append(left, s.fleet.Machine(info.ID))
		}
	}
	for _, m := range slices.Backward(left) {
		if err := m.Delete(ctx, &smol.DeleteOptions{Cascade: true}); err != nil {
			tb.Logf("machine %s stays: %v", m.Name(), err)
		}
	}
	return names
}

// String returns "row: text".
func (f Failure) String() string { return fmt.Sprintf("%s: %s", f.Row, f.Text) }
