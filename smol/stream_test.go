package smol_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

// able is a fake with every capability.
type able struct {
	*fake
	events  []smol.Event
	end     error
	request *smol.ExecRequest
	lines   []string
}

func (a *able) Stream(ctx context.Context, id string, req *smol.ExecRequest) iter.Seq2[smol.Event, error] {
	a.request = req
	return func(yield func(smol.Event, error) bool) {
		_, err := fakeCall(ctx, a.fake, "stream "+id, func() (struct{}, error) { return struct{}{}, nil })
		for _, ev := range a.events {
			if err == nil && !yield(ev, nil) {
				return
			}
		}
		if err == nil {
			err = a.end
		}
		if err != nil {
			yield(smol.Event{}, err)
		}
	}
}

func (a *able) Logs(ctx context.Context, id string, opts *smol.LogOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		_, err := fakeCall(ctx, a.fake, "logs "+id, func() (struct{}, error) { return struct{}{}, nil })
		for _, line := range a.lines[max(0, len(a.lines)-opts.Tail):] {
			if err == nil && !yield(line, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

func (a *able) Branch(ctx context.Context, id, child string, _ *smol.BranchOptions) (*smol.Info, error) {
	return fakeCall(ctx, a.fake, "branch "+child, func() (*smol.Info, error) {
		if _, err := a.Create(ctx, &smol.Spec{Name: child}); err != nil {
			return nil, err
		}
		a.set(child, smol.StateRunning)
		return a.info(child)
	})
}

func (a *able) PullImage(ctx context.Context, id, image string) (*smol.Image, error) {
	return fakeCall(ctx, a.fake, "pull "+image, func() (*smol.Image, error) { return &smol.Image{Reference: image}, nil })
}

// wrapped hides what a backend can, except through Unwrap.
type wrapped struct{ smol.Backend }

func (w wrapped) Unwrap() smol.Backend { return w.Backend }

func newAble() (*able, *smol.Machine) {
	f, _ := newFakeMachine()
	a := &able{fake: f}
	return a, smol.NewFleet(wrapped{wrapped{a}}).Machine("web")
}

func TestStream(t *testing.T) {
	out := smol.Event{Stream: "stdout", Text: "hi\n"}
	exit := smol.Event{Exited: true, ExitCode: 3}
	cut := &smol.Error{Code: smol.CodeUnavailable, Message: "cut off"}
	tests := []struct {
		name   string
		events []smol.Event
		end    error
		want   []smol.Event
		err    error
	}{
		{name: "exit", events: []smol.Event{out, exit}, want: []smol.Event{out, exit}},
		{name: "no exit", events: []smol.Event{out}, want: []smol.Event{out}, err: smol.ErrUnavailable},
		{name: "nothing", err: smol.ErrUnavailable},
		{name: "cut", events: []smol.Event{out}, end: cut, want: []smol.Event{out}, err: smol.ErrUnavailable},
		{name: "something after the exit", events: []smol.Event{exit, out}, want: []smol.Event{exit}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, m := newAble()
			a.events, a.end = tt.events, tt.end
			seq := m.Stream(t.Context(), []string{"prog"}, &smol.StreamOptions{Env: []string{"A=1"}, Dir: "/d"})
			for range 2 { // ranging again runs again
				var got []smol.Event
				var err error
				for ev, e := range seq {
					if err = e; e == nil {
						got = append(got, ev)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
					t.Errorf("got %v, events (-want +got):\n%s", err, diff)
				}
			}
			if diff := cmp.Diff(&smol.ExecRequest{Argv: []string{"prog"}, Env: []string{"A=1"}, Dir: "/d"}, a.request); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamRefused(t *testing.T) {
	a, m := newAble()
	first := func(m *smol.Machine, argv ...string) (err error) {
		for _, err = range m.Stream(t.Context(), argv, nil) {
		}
		return err
	}
	if err := first(m); !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("no program: %v", err)
	}
	if err := first(m, "a", "\x00"); !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "[1]") {
		t.Errorf("NUL: %v", err)
	}
	a.wantCalls(t)
	a.set("web", smol.StateFrozen)
	if err := first(m, "prog"); !errors.Is(err, smol.ErrConflict) || a.count("stream") != 0 {
		t.Errorf("frozen: %v", err)
	}
	_, plain := newFakeMachine()
	if err := first(plain, "prog"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "fake fleet") {
		t.Errorf("without streams: %v", err)
	}
}

// TestStreamLeft: who leaves the range early gets no error and gives the place back.
func TestStreamLeft(t *testing.T) {
	a, m := newAble()
	a.events = []smol.Event{{Stream: "stdout", Text: "1"}, {Stream: "stdout", Text: "2"}}
	for range 10 {
		for ev, err := range m.Stream(t.Context(), []string{"prog"}, nil) {
			if err != nil || ev.Text != "1" {
				t.Fatalf("got %+v and %v", ev, err)
			}
			break
		}
	}
}

func TestLogs(t *testing.T) {
	a, m := newAble()
	a.lines = []string{"one", "two", "three"}
	logs := func(opts *smol.LogOptions) (lines []string, err error) {
		for line, e := range m.Logs(t.Context(), opts) {
			if err = e; e == nil {
				lines = append(lines, line)
			}
		}
		return lines, err
	}
	if lines, err := logs(&smol.LogOptions{Tail: 2}); err != nil || !slices.Equal(lines, []string{"two", "three"}) {
		t.Errorf("got %q and %v", lines, err)
	}
	for range m.Logs(t.Context(), &smol.LogOptions{Tail: 2}) {
		break
	}
	a.before = each("logs web", errLost)
	if _, err := logs(nil); !errors.Is(err, smol.ErrUnavailable) || !strings.Contains(err.Error(), "logs web") {
		t.Errorf("cut off: %v", err)
	}
	if _, err := logs(&smol.LogOptions{Tail: 10_001}); !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "Tail") {
		t.Errorf("too many: %v", err)
	}
	_, m = newFakeMachine()
	if _, err := logs(nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a console: %v", err)
	}
}

func TestSupports(t *testing.T) {
	a, m := newAble()
	for c, want := range map[smol.Capability][2]bool{
		smol.CapabilityStream: {true, false},
		smol.CapabilityLogs:   {true, false},
		smol.CapabilityBranch: {true, false},
		smol.CapabilityImages: {true, false},
		smol.CapabilityFiles:  {false, false},
		"telepathy":           {false, false},
	} {
		if got := m.Fleet().Supports(c); got != want[0] {
			t.Errorf("%s through wrappers: %v", c, got)
		}
		if got := smol.NewFleet(a.fake).Supports(c); got != want[1] {
			t.Errorf("%s without: %v", c, got)
		}
	}
}

func TestPullImage(t *testing.T) {
	a, m := newAble()
	img, err := m.PullImage(t.Context(), "alpine:3.20", nil)
	if err != nil || img.Reference != "alpine:3.20" {
		t.Errorf("got %+v and %v", img, err)
	}
	for _, ref := range []string{"", "../images/x", "a b"} {
		if _, err := m.PullImage(t.Context(), ref, nil); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%q: got %v", ref, err)
		}
	}
	a.before = each("pull alpine", &smol.Error{Code: smol.CodeInternal, Status: 500, Message: "no such image"})
	if _, err := m.PullImage(t.Context(), "alpine", nil); err == nil || !strings.Contains(err.Error(), "pull image web: no such image") {
		t.Errorf("got %v", err)
	}
	_, m = newFakeMachine()
	if _, err := m.PullImage(t.Context(), "alpine", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without images: %v", err)
	}
}
