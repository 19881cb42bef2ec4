package smol_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// startJob starts a job of a shell.
func startJob(t *testing.T, m *smol.Machine, script string) *smol.Job {
	t.Helper()
	job, err := m.Shell(script).StartJob(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// pollJob polls a job and fails the test if that cannot be done.
func pollJob(t *testing.T, j *smol.Job, o *smol.PollOptions) *smol.JobPart {
	t.Helper()
	part, err := j.Poll(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// TestSimJob: what is quick comes back whole with the start; what is not is polled from where the last poll ended, by another handle.
func TestSimJob(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, l *smoltest.Local, m *smol.Machine) {
		l.ForgetRequests()
		job, err := m.Shell("echo out; echo err >&2; exit 3").StartJob(t.Context(), &smol.JobOptions{Poll: &smol.PollOptions{Wait: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		p := job.First()
		if p.State != smol.JobExited || p.ExitCode != 3 || p.Stdout.String() != "out\n" || p.Stderr.String() != "err\n" {
			t.Errorf("got %+v", p)
		}
		if n := execs(l); n != 1 {
			t.Errorf("%d execs, want 1", n)
		}
		slow := startJob(t, m, "echo one; until [ -e /workspace/go ]; do sleep 0.1; done; echo two; exit 4")
		p = pollJob(t, slow, &smol.PollOptions{Wait: time.Minute, News: true})
		if p.State != smol.JobRunning || p.ExitCode != -1 || p.Stdout.String() != "one\n" {
			t.Fatalf("got %+v", p)
		}
		other := l.Service(t).Machine(m.Name()).Job(slow.ID())
		if err := m.Command("touch", "/workspace/go").Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		p = pollJob(t, other, &smol.PollOptions{From: p.Next, Wait: time.Minute})
		if p.State != smol.JobExited || p.ExitCode != 4 || p.Stdout.String() != "two\n" || p.Stdout.Offset != 4 {
			t.Errorf("got %+v", p)
		}
		if data, err := m.ReadFile(t.Context(), p.Stdout.Path); err != nil || string(data) != "one\ntwo\n" {
			t.Errorf("%s: %q, %v", p.Stdout.Path, data, err)
		}
		state, err := other.Wait(t.Context())
		var exit *smol.ExitError
		if !errors.As(err, &exit) || exit.Code != 4 || state == nil || state.ExitCode != 4 {
			t.Errorf("wait: %+v, %v", state, err)
		}
	})
}

// TestSimJobEnds: kill, signals, time-outs, and everything that is left.
func TestSimJobEnds(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		c := m.Shell("echo partial; sleep 60 & sleep 60")
		c.Timeout = time.Second
		late, err := c.StartJob(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		deaf := startJob(t, m, `trap "" TERM; echo go; setsid sleep 61 & while :; do sleep 0.1; done`)
		pollJob(t, deaf, &smol.PollOptions{Wait: time.Minute, News: true})
		if err := deaf.Kill(t.Context(), &smol.KillOptions{Grace: 50 * time.Millisecond}); err != nil {
			t.Error(err)
		}
		if p := pollJob(t, deaf, nil); p.State != smol.JobSignaled || p.Signal != smol.Kill || p.ExitCode != 137 {
			t.Errorf("killed: %+v", p)
		}
		own := startJob(t, m, "kill -TERM $$")
		if p := pollJob(t, own, &smol.PollOptions{Wait: time.Minute}); p.State != smol.JobExited || p.ExitCode != 143 || p.Hint == "" || p.Signal != "" {
			t.Errorf("died of its own signal: %+v", p)
		}
		if p := pollJob(t, late, &smol.PollOptions{Wait: time.Minute}); p.State != smol.JobTimedOut || p.ExitCode != 124 || p.Stdout.String() != "partial\n" {
			t.Errorf("timed out: %+v", p)
		}
		out, err := m.Shell("ps -ef 2>/dev/null || ps").Output(t.Context())
		if err != nil || strings.Contains(string(out), "sleep 6") {
			t.Errorf("left, or %v:\n%s", err, out)
		}
	})
}

// TestSimJobList: jobs are listed, searched and removed.
func TestSimJobList(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		runs := startJob(t, m, "exec sleep 1000")
		ended, err := m.Command("sh", "-c", "seq 1 30000; echo Error: 'ü' >&2; exit 1").StartJob(t.Context(), &smol.JobOptions{
			Poll: &smol.PollOptions{Wait: time.Minute, Budget: smol.Budget{Bytes: 3}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]*smol.JobInfo{}
		for info, err := range m.Jobs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got[info.ID] = info
		}
		a, b := got[runs.ID()], got[ended.ID()]
		if len(got) != 2 || a == nil || b == nil || a.State != smol.JobRunning || b.State != smol.JobExited || b.ExitCode != 1 ||
			a.Command[2] != "exec sleep 1000" || b.Ended.Before(b.Started) || b.Started.IsZero() {
			t.Fatalf("listed: %+v, %+v of %d", a, b, len(got))
		}
		found, err := ended.Grep(t.Context(), "^(29999|error: Ü?)", &smol.GrepOptions{IgnoreCase: true})
		if err != nil || found.Stdout.String() != "29999:29999\n" || found.Stderr.String() != "1:Error: ü\n" {
			t.Errorf("grep: %+v, %v", found, err)
		}
		if _, err := ended.Grep(t.Context(), "a(", nil); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("grep for what is no pattern: %v", err)
		}
		if err := runs.Remove(t.Context()); !errors.Is(err, smol.ErrConflict) {
			t.Errorf("removal of a job that runs: %v", err)
		}
		if err := ended.Remove(t.Context()); err != nil {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"poll": second(ended.Poll(t.Context(), nil)), "signal": ended.Signal(t.Context(), smol.Terminate), "kill": ended.Kill(t.Context(), nil),
			"remove": ended.Remove(t.Context()), "grep": second(ended.Grep(t.Context(), "x", nil)), "wait": second(ended.Wait(t.Context())),
		} {
			if !errors.Is(err, smol.ErrNotFound) {
				t.Errorf("%s of a job that is not there: %v", name, err)
			}
		}
		if err := runs.Kill(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := runs.Signal(t.Context(), smol.Terminate); !errors.Is(err, smol.ErrConflict) {
			t.Errorf("signal to a job that has ended: %v", err)
		}
		if n, err := m.PruneJobs(t.Context(), &smol.PruneOptions{Keep: -1, Age: -1}); err != nil || n != 1 {
			t.Errorf("pruned %d, %v", n, err)
		}
	})
}

// TestSimJobDamage: a job whose files somebody has written over is lost, the others are listed, and what cannot be removed is told.
func TestSimJobDamage(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: simImages[1]})
	job, good := startJob(t, m, "exit 0"), startJob(t, m, "exit 3")
	for _, j := range []*smol.Job{job, good} {
		pollJob(t, j, &smol.PollOptions{Wait: time.Minute})
	}
	script := "cd /workspace/.smol; echo exited 0 >" + job.ID() + ".exit; mount --bind /etc/passwd " + good.ID() + ".out"
	if out, err := m.Shell(script).CombinedOutput(t.Context()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]*smol.JobInfo{}
	for info, err := range m.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got[info.ID] = info
	}
	if l, g := got[job.ID()], got[good.ID()]; len(got) != 2 || l.State != smol.JobLost || l.ExitCode != -1 || l.Hint == "" || g.State != smol.JobExited || g.ExitCode != 3 {
		t.Errorf("listed: %+v, %+v of %d", l, g, len(got))
	}
	if p := pollJob(t, job, nil); p.State != smol.JobLost || p.ExitCode != -1 || p.Hint == "" {
		t.Errorf("damaged: %+v", p)
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Errorf("removal of what is damaged: %v", err)
	}
	if err := good.Remove(t.Context()); !errors.Is(err, smol.ErrPermission) || !strings.Contains(err.Error(), "/workspace/.smol") {
		t.Errorf("removal of what stays: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
