package smol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// startJob starts a command that goes on.
func (b *box) startJob() {
	w := b.newWork()
	var opts *smol.JobOptions
	if b.s.rand.IntN(2) == 0 {
		opts = &smol.JobOptions{Poll: &smol.PollOptions{Wait: pick(b.s.rand, []time.Duration{0, time.Second, 20 * time.Second})}}
	}
	w.started = time.Now()
	err := b.s.do(time.Second, fmt.Sprintf("start job %s in %s", w, b.name), func(ctx context.Context) (err error) {
		w.job, err = w.cmd(b.m).StartJob(ctx, opts)
		return err
	})
	if err != nil {
		b.missing(err)
	}
	if w.job == nil {
		w.never = true
		return
	}
	b.jobs = append(b.jobs, w)
	w.began = w.began || err == nil
	if err == nil && opts != nil {
		w.part(w.job.First())
	}
}

// oneJob returns one of the machine's jobs, now and then by a handle that knows only its id.
func (b *box) oneJob() *work {
	if len(b.jobs) == 0 {
		return nil
	}
	w := pick(b.s.rand, b.jobs)
	if b.s.rand.IntN(3) == 0 {
		w.job = b.s.w.fleet.Machine(b.name).Job(w.job.ID())
	}
	return w
}

// unknown reports whether an error says that there is no such job, which is wrong if it was started.
func (b *box) unknown(w *work, err error) bool {
	if !errors.Is(err, smol.ErrNotFound) {
		return false
	}
	if w.began && !b.doubtful {
		b.s.failf("%s was started, and was not found: %v", w, err)
	}
	return true
}

// pollJob asks after a job, from where the last poll ended.
func (b *box) pollJob() {
	w := b.oneJob()
	if w == nil {
		b.startJob()
		return
	}
	o := &smol.PollOptions{
		From: w.next, Wait: pick(b.s.rand, []time.Duration{0, 3 * time.Second, time.Minute}), News: b.s.rand.IntN(2) == 0,
		Budget: smol.Budget{Bytes: pick(b.s.rand, []int{0, 100, 1 << 20})},
	}
	var part *smol.JobPart
	err := b.s.do(time.Second, fmt.Sprintf("poll job %s in %s from %d for %s", w, b.name, o.From.Stdout, o.Wait), func(ctx context.Context) (err error) {
		part, err = w.job.Poll(ctx, o)
		return err
	})
	if err == nil {
		w.began = true
		w.part(part)
	}
	b.unknown(w, err)
}

// part compares what a poll has told with what the job does.
func (w *work) part(p *smol.JobPart) {
	end := w.takes
	if w.timesOut() {
		end = w.timeout
	}
	passed := time.Since(w.started)
	ok := false
	switch p.State {
	case smol.JobRunning:
		ok = p.ExitCode == -1
	case smol.JobExited:
		ok = !w.timesOut() && p.ExitCode == w.code && passed >= end
	case smol.JobTimedOut:
		ok = w.timesOut() && p.ExitCode == 124 && passed >= end
	case smol.JobSignaled:
		ok = w.killed
	}
	if !ok {
		w.s.failf("%s is %s with exit code %d after %s", w, p.State, p.ExitCode, passed)
	}
	x, all := p.Stdout, output(w.tag, w.size)
	from, to := x.Offset, x.Next
	if from != w.next.Stdout || to < from || to > int64(len(all)) || x.Dropped != to-from-int64(len(x.Head)+len(x.Tail)) ||
		!bytes.HasPrefix(all[from:to], x.Head) || !bytes.HasSuffix(all[from:to], x.Tail) {
		w.s.failf("%s: the output from %d is told as %d to %d, %d and %d bytes with %d dropped", w, w.next.Stdout, from, to, len(x.Head), len(x.Tail), x.Dropped)
	}
	if p.State == smol.JobExited && to != int64(len(all)) || p.State != smol.JobRunning && to < int64(len(all)/2) && !w.killed {
		w.s.failf("%s is %s, and its output ends at %d of %d", w, p.State, to, len(all))
	}
	w.next = p.Next
}

// waitJob waits for the end of a job.
func (b *box) waitJob() {
	w := b.oneJob()
	if w == nil {
		b.startJob()
		return
	}
	err := b.s.do(time.Second, fmt.Sprintf("wait for job %s in %s", w, b.name), func(ctx context.Context) error {
		_, err := w.job.Wait(ctx)
		return err
	})
	if !w.ended(err) {
		b.unknown(w, err)
	}
}

// killJob kills a job.
func (b *box) killJob() {
	w := b.oneJob()
	if w == nil {
		b.startJob()
		return
	}
	w.killed = true
	err := b.s.do(time.Second, fmt.Sprintf("kill job %s in %s", w, b.name), func(ctx context.Context) error { return w.job.Kill(ctx, nil) })
	if err != nil {
		b.unknown(w, err)
		return
	}
	pass(time.Millisecond) // a function learns of its end a moment later
	if _, alive := b.s.w.seen(w.tag); alive > 0 {
		b.s.failf("%s was killed and runs", w)
	}
}
