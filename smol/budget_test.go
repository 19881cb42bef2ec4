package smol_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/smol"
)

func TestBudgetClip(t *testing.T) {
	for _, tt := range []struct {
		name       string
		b          smol.Budget
		data       string
		head, tail string
		dropped    int64
	}{
		{"nothing", smol.Budget{}, "", "", "", 0},
		{"within", smol.Budget{Bytes: 3}, "abc", "abc", "", 0},
		{"beyond", smol.Budget{Bytes: 3}, "abcdef", "ab", "f", 3},
		{"default", smol.Budget{}, strings.Repeat("x", 65537), strings.Repeat("x", 43690), strings.Repeat("x", 21846), 1},
		{"characters", smol.Budget{Bytes: 9}, "aäöüäöüäöü", "aäö", "ü", 12},
		{"wide characters", smol.Budget{Bytes: 9}, "a🙂🙂🙂🙂", "a🙂", "", 12},
		{"no text", smol.Budget{Bytes: 3}, "\xff\xfe\xfd\xff\xff\xff", "\xff\xfe", "\xff", 3},
		{"colors", smol.Budget{StripANSI: true}, "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b(B\n", "red x\n", "", 0},
		{"colors kept", smol.Budget{}, "\x1b[1mx", "\x1b[1mx", "", 0},
		{"no sequence", smol.Budget{StripANSI: true}, "a\x1b\nresult: 42\n", "a\x1b\nresult: 42\n", "", 0},
		{"half a title", smol.Budget{StripANSI: true}, "a\x1b]0;title\x1b", "a", "", 0},
		{"half a color", smol.Budget{StripANSI: true}, "a\x1b[1;3", "a", "", 0},
		{"no color", smol.Budget{Bytes: 6, StripANSI: true}, "aaaa1234mk", "aaaa", "mk", 4},
		{"text like a color", smol.Budget{Bytes: 12, StripANSI: true}, "aaaaaaaa11112m b", "aaaaaaaa", "2m b", 4},
		{"cut in a color", smol.Budget{Bytes: 12, StripANSI: true}, "aaaaa\x1b[31mbbbbbbbbb\x1b[0mz", "aaaaa", "z", 18},
	} {
		e := tt.b.Clip([]byte(tt.data))
		if string(e.Head) != tt.head || string(e.Tail) != tt.tail || e.Dropped != tt.dropped || e.Size != int64(len(tt.data)) || e.Next != e.Size {
			t.Errorf("%s: %q, %q, %d dropped, next %d of %d", tt.name, e.Head, e.Tail, e.Dropped, e.Next, e.Size)
		}
	}
}

// FuzzBudget: a cut loses no byte unsaid, keeps to the budget, and cuts no character of what is text.
func FuzzBudget(f *testing.F) {
	f.Add("aäöü🙂漢", 7)
	f.Add("\xff\x80\x80\x80abc\xf0\x9f", 3)
	f.Fuzz(func(t *testing.T, data string, n int) {
		n = 1 + int(uint(n)%100)
		e := smol.Budget{Bytes: n}.Clip([]byte(data))
		if len(e.Head)+len(e.Tail) > n || int64(len(e.Head)+len(e.Tail))+e.Dropped != int64(len(data)) {
			t.Errorf("%d and %d bytes with %d dropped, of %d", len(e.Head), len(e.Tail), e.Dropped, len(data))
		}
		if !strings.HasPrefix(data, string(e.Head)) || !strings.HasSuffix(data, string(e.Tail)) {
			t.Errorf("%q, %q", e.Head, e.Tail)
		}
		if utf8.ValidString(data) && !utf8.ValidString(e.String()) {
			t.Errorf("a character is cut: %q", e.String())
		}
	})
}

// TestJobHalfCharacter: a character that is half written is for the next poll, and one that never becomes whole comes at the end.
func TestJobHalfCharacter(t *testing.T) {
	f, m := newFakeMachine()
	state, out := guest.Running, "a\xc3"
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		q, ok := guest.Parse(req.Argv)
		poll, isPoll := q.(*guest.Poll)
		if !ok || !isPoll {
			return nil, nil, false
		}
		r := &guest.Reply{State: state, Base: guest.BaseWorkspace}
		r.Cut([]byte(out), nil, poll.View)
		return &smol.ExecResult{Stdout: r.Encode()}, nil, true
	}
	job := m.Job("job-20260101-000000-abcdef")
	p := pollJob(t, job, nil)
	if p.Stdout.String() != "a" || p.Next.Stdout != 1 || p.Stdout.Size != 2 {
		t.Errorf("half: %+v", p)
	}
	out, state = "a\xc3\xa4\xc3", guest.Exited
	if p = pollJob(t, job, &smol.PollOptions{From: p.Next}); p.Stdout.String() != "ä\xc3" || p.Next.Stdout != 4 {
		t.Errorf("whole: %+v", p)
	}
}

// TestJobKillLost: a job that is lost can be killed, though the machine does not know it any more once nothing of it is left. One that was never
// there cannot.
func TestJobKillLost(t *testing.T) {
	f, m := newFakeMachine()
	lost := true
	f.exec = func(req *smol.ExecRequest) (*smol.ExecResult, error, bool) {
		q, _ := guest.Parse(req.Argv)
		s, ok := q.(*guest.Signal)
		if !ok {
			return nil, nil, false
		}
		if lost && s.Signal != "KILL" {
			return &smol.ExecResult{Stdout: (&guest.Reply{State: guest.Lost, Base: guest.BaseWorkspace}).Encode()}, nil, true
		}
		return &smol.ExecResult{Stdout: guest.EncodeError(guest.ErrNoJob)}, nil, true
	}
	if err := m.Job("job-1").Kill(t.Context(), nil); err != nil {
		t.Errorf("a job that is lost: %v", err)
	}
	if lost = false; !errors.Is(m.Job("job-2").Kill(t.Context(), nil), smol.ErrNotFound) {
		t.Error("a job that is not there was killed")
	}
}

// TestJobHostile: what cannot be is refused before anything is sent.
func TestJobHostile(t *testing.T) {
	f, m := newFakeMachine()
	ctx := t.Context()
	polls := func(o *smol.PollOptions) error { return second(m.Job("job-1").Poll(ctx, o)) }
	for i, err := range []error{
		second(m.Job("").Poll(ctx, nil)), second(m.Job("..").Poll(ctx, nil)), second(m.Job("a/b").Wait(ctx)), m.Job("a=b").Signal(ctx, smol.Kill),
		m.Job("a\x00").Kill(ctx, nil), m.Job("\xff").Remove(ctx), second(m.Job(strings.Repeat("a", 129)).Grep(ctx, "x", nil)),
		polls(&smol.PollOptions{Wait: -1}), polls(&smol.PollOptions{From: smol.JobOffset{Stderr: -1}}), polls(&smol.PollOptions{Budget: smol.Budget{Bytes: -1}}),
		polls(&smol.PollOptions{Budget: smol.Budget{Bytes: 1 << 30}}), m.Job("job-1").Signal(ctx, "SIGTERM"),
		second(m.Command("").StartJob(ctx, nil)),
	} {
		if !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("row %d: %v", i, err)
		}
	}
	c := m.Command("x")
	c.Stdout = new(strings.Builder)
	if _, err := c.StartJob(ctx, nil); !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("with a writer: %v", err)
	}
	for chunk, err := range m.Job("job-1").Output(ctx, &smol.OutputOptions{From: smol.JobOffset{Stdout: -1}}) {
		if !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%+v, %v", chunk, err)
		}
	}
	if n := f.count("exec"); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for i, err := range []error{
		second(m.Job("job-1").Poll(cancelled, &smol.PollOptions{Wait: time.Hour})), second(m.Job("job-1").Wait(cancelled)),
		m.Job("job-1").Kill(cancelled, nil), second(m.Command("x").StartJob(cancelled, nil)), second(m.PruneJobs(cancelled, nil)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled, row %d: %v", i, err)
		}
	}
}

// TestJobOutputLimit: what has reached the limit says so.
func TestJobOutputLimit(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	// A hole is as long as what is written.
	job := startJob(t, m, `dd of=/workspace/.smol/$SMOL_JOB.out bs=1 seek=1073741830 count=0 2>/dev/null; echo; exec sleep 1000`)
	p := pollJob(t, job, &smol.PollOptions{Wait: time.Minute, Budget: smol.Budget{Bytes: 10}})
	if p.State != smol.JobSignaled || p.Signal != smol.Kill || !p.OutputLimit || p.Stdout.Size != 1<<30 || p.Hint == "" {
		t.Errorf("got %+v", p)
	}
}
