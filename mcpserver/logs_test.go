package mcpserver_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// reader follows a log from call to call, as an agent does.
type reader struct {
	c         *client
	cursor    string
	lines     []string
	truncated int
}

func (r *reader) read(machine string) {
	r.c.t.Helper()
	a := args{"name": machine, "tail": 10}
	if r.cursor != "" {
		a["cursor"] = r.cursor
	}
	res := r.c.call("machine-logs", a)
	r.cursor = res["cursor"].(string)
	for _, line := range res["lines"].([]any) {
		if strings.HasPrefix(line.(string), "line ") {
			r.lines = append(r.lines, line.(string))
		}
	}
	if res["truncated"] == true {
		r.truncated++
	}
}

// TestLogsAreReadOnce reads a log of 9,000 lines bit by bit, over a rotation and a restart.
func TestLogsAreReadOnce(t *testing.T) {
	t.Parallel()
	s := withConsoles(t, nil)
	r := &reader{c: connect(t, s.Server, nil)}
	const total, tail = 9000, 10
	s.write("box", numbered(0, 50)...)
	r.read("box")
	next := 50
	for _, n := range []int{1, 2, 3, 946, 0, 1998, 700, 1300, 1, 2999, 1000} {
		s.write("box", numbered(next, next+n)...)
		if n == 0 {
			continue
		}
		next += n
		r.read("box")
		switch next {
		case 3000:
			s.rotate("box")
		case 5001:
			r.c.call("stop-machine", args{"name": "box"})
			r.read("box") // what was read stays read
			r.c.call("start-machine", args{"name": "box"})
		}
	}
	r.read("box")
	if diff := cmp.Diff(numbered(50-tail, total), r.lines); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
	if r.truncated != 2 {
		t.Errorf("truncated %d times, not once by the rotation and once by the restart", r.truncated)
	}
}

// chatty is a fleet whose machines have said a lot.
type chatty struct {
	deadBackend
	lines map[string][]string
}

// Inspect finds every machine.
func (b *chatty) Inspect(_ context.Context, id string) (*smol.Info, error) {
	return &smol.Info{Name: id, ID: id, State: smol.StateRunning, PID: 7}, nil
}

// Logs yields as many lines as a service gives.
func (b *chatty) Logs(_ context.Context, id string, o *smol.LogOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		all := b.lines[id]
		for _, line := range all[max(0, len(all)-o.Tail):] {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// TestLongLogs reads logs that are longer than what a service gives.
func TestLongLogs(t *testing.T) {
	t.Parallel()
	b := &chatty{lines: map[string][]string{
		"box": numbered(0, 10_500), "other": slices.Repeat([]string{"line and nothing else"}, 10_500),
	}}
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.Targets = "local"
		o.Local = mcpserver.FixedFleet(smol.NewFleet(b))
	})
	c := connect(t, s.Server, nil)
	one, same := &reader{c: c}, &reader{c: c}
	one.read("box")
	same.read("other")
	b.lines["box"] = numbered(0, 10_600)
	b.lines["other"] = append(b.lines["other"], "line", "line")
	one.read("box")
	same.read("other")
	if diff := cmp.Diff(numbered(10_490, 10_600), one.lines); diff != "" || one.truncated > 0 {
		t.Errorf("truncated %d times (-want +got):\n%s", one.truncated, diff)
	}
	if same.truncated != 1 {
		t.Errorf("a place that could be anywhere was found")
	}
}

func TestWrongCursors(t *testing.T) {
	t.Parallel()
	s := withConsoles(t, nil)
	c := connect(t, s.Server, nil)
	for _, cursor := range []string{"!", "e30=", "W10", "eyJuIjotMX0", strings.Repeat("A", 100_000)} {
		c.fails(mcpserver.CodeInvalid, "machine-logs", args{"name": "box", "cursor": cursor})
	}
	c.fails(mcpserver.CodeNotFound, "machine-logs", args{"name": "none"})
}
