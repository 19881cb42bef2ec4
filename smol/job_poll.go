package smol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// PollOptions are the knobs of [Job.Poll]. Nil and the zero value ask for the output from its beginning, at once.
type PollOptions struct {
	// From is the offset from which output is wanted: JobPart.Next of the poll before.
	From JobOffset
	// Wait is how long to wait for the job to end. Zero: not at all.
	Wait time.Duration
	// News ends the wait as soon as there is output beyond From.
	News bool
	// Budget bounds the output of each stream.
	Budget Budget
}

// clone returns a copy that is not nil, once it has been checked.
func (o *PollOptions) clone() (*PollOptions, error) {
	if o == nil {
		return &PollOptions{}, nil
	}
	c := *o
	if err := c.From.validate("PollOptions.From"); err != nil {
		return nil, err
	}
	if err := notNegative("PollOptions.Wait", int64(c.Wait)); err != nil {
		return nil, err
	}
	return &c, c.Budget.validate("PollOptions.Budget")
}

// JobPart is what a job has done since an offset.
type JobPart struct {
	// State is what the job is doing.
	State JobState
	// ExitCode is the exit code of a job that has ended: 128+n for a death by signal n, 124 when it timed out. It is -1 for a job that runs or is lost.
	ExitCode int
	// Signal is the signal that ended the job, if it is JobSignaled.
	Signal Signal
	// OutputLimit reports that a stream has reached 1 GiB, where it is cut; see [Cmd.StartJob].
	OutputLimit bool
	// Hint explains an exit code that is easily misread, or what became of a job that is lost. It may be empty.
	Hint string
	// Duration is how long the job has run, by the machine's clock, which ticks in hundredths of a second.
	Duration time.Duration
	// Stdout and Stderr are the output since the offset, within the budget.
	Stdout, Stderr Excerpt
	// Next is the offset of the next poll.
	Next JobOffset
}

// Poll asks after the job, and waits for its end if Wait says so: it returns when the job has ended, when the wait is over, or when there is
// news and that was asked for. A wait holds none of the machine's places for calls for long, and rides out a service that does not answer for a
// while. On a fleet that stops machines which nobody uses a job that is waited for keeps its machine busy; one that is left alone does not.
//
// A machine that does not run is not booted: Poll then fails with a [*StateError], and after a start of the machine the job is lost, unless it
// had ended before. A job that is not there matches [ErrNotFound].
func (j *Job) Poll(ctx context.Context, opts *PollOptions) (*JobPart, error) {
	o, err := opts.clone()
	if err == nil {
		err = validateJobID(j.id)
	}
	if err != nil {
		return nil, j.wrap("poll job", err)
	}
	r := j.follow(ctx)
	r.watch = newWatch(o)
	reply, err := r.poll(false)
	part, err := j.told(reply, err, func(reply *guest.Reply) (*JobPart, error) { return j.watch(r, reply) })
	return part, j.wrap("poll job", err)
}

// follow returns a run that only looks after the job.
func (j *Job) follow(ctx context.Context) *run {
	r := &run{
		m: j.machine, visit: j.visit, ctx: ctx, out: newSink(nil), err: newSink(nil), kept: true,
		begun: make(chan struct{}), done: make(chan struct{}), idle: newPause(idleLeast, idleMost),
	}
	r.start.ID = j.id
	return r
}

// told goes on with the machine's answer; a job that the machine has known and does not know any more is lost.
func (j *Job) told(reply *guest.Reply, err error, next func(*guest.Reply) (*JobPart, error)) (*JobPart, error) {
	switch {
	case err == nil:
		j.known.Store(true)
		return next(reply)
	case !errors.Is(err, guest.ErrNoJob):
		return nil, err
	case !j.known.Load():
		return nil, j.noJob()
	}
	return next(&guest.Reply{State: guest.Lost})
}

// watch is how a poll looks at a job.
type watch struct {
	o     *PollOptions
	until time.Time
	mute  bool // no output is wanted
}

func newWatch(o *PollOptions) *watch { return &watch{o: o, until: time.Now().Add(o.Wait)} }

// left is how long the poll may still wait.
func (w *watch) left() time.Duration { return max(0, time.Until(w.until)) }

// view asks for output only if the answer to it can be the last.
func (w *watch) view(wait time.Duration) guest.View {
	wait = min(wait, w.left())
	if w.mute {
		return guest.View{Wait: wait}
	}
	return guest.View{
		Stdout: w.o.From.Stdout, Stderr: w.o.From.Stderr, Wait: wait, News: w.o.News, Clip: true, Budget: int64(w.o.Budget.bytes()),
		Hush: !w.o.News && wait < w.left(),
	}
}

// over reports whether a reply ends the poll.
func (w *watch) over(reply *guest.Reply) bool {
	if reply.State != guest.Running || w.left() == 0 {
		return true
	}
	return w.o.News && (reply.StdoutSize > w.o.From.Stdout || reply.StderrSize > w.o.From.Stderr)
}

// watch polls until the wait is over.
func (j *Job) watch(r *run, reply *guest.Reply) (*JobPart, error) {
	for hushed := r.hushed; ; hushed = r.hushed {
		if r.watch.over(reply) && (!hushed || reply.State != guest.Running) {
			part := newJobPart(j.id, reply, r.watch.o.Budget)
			if !r.watch.o.News || reply.State != guest.Running || part.Next != r.watch.o.From || r.watch.left() == 0 {
				return part, nil
			}
			// What there is of news is half a character.
			if err := sleep(r.ctx, newsEvery); err != nil {
				return nil, err
			}
		}
		var err error
		if reply, err = r.poll(false); err != nil {
			return j.told(nil, err, func(reply *guest.Reply) (*JobPart, error) {
				return newJobPart(j.id, reply, r.watch.o.Budget), nil
			})
		}
	}
}

// newJobPart is what a reply tells.
func newJobPart(id string, reply *guest.Reply, b Budget) *JobPart {
	p := &JobPart{State: JobState(reply.State), ExitCode: -1, Duration: reply.Ended - reply.Started}
	switch reply.State {
	case guest.Running:
	case guest.Lost:
		p.Duration = 0
		p.Hint = "the machine was restarted, or the job's files were removed or damaged in it, or what keeps the job was killed"
	default:
		p.ExitCode = reply.Code
	}
	switch reply.State {
	case guest.TimedOut:
		p.ExitCode = timedOutCode
	case guest.Signaled:
		p.Signal = signalNamed(reply.Code - 128)
	case guest.Exited:
		p.Hint = codeHints[reply.Code]
	}
	if p.OutputLimit = max(reply.StdoutSize, reply.StderrSize) >= maxJobOutput; p.OutputLimit {
		p.Hint = fmt.Sprintf("a job may write %d bytes to a stream; what is beyond is cut off", int64(maxJobOutput))
	}
	last := reply.State != guest.Running
	p.Stdout = excerpt(&reply.Stdout, reply.StdoutSize, reply.Base, id+".out", b, last)
	p.Stderr = excerpt(&reply.Stderr, reply.StderrSize, reply.Base, id+".err", b, last)
	p.Next = JobOffset{p.Stdout.Next, p.Stderr.Next}
	return p
}

// excerpt makes a part of a reply one on whole characters.
func excerpt(p *guest.Part, size int64, base, name string, b Budget, last bool) Excerpt {
	e := Excerpt{Head: p.Data, Dropped: p.Dropped, Offset: p.Offset, Next: p.Next(), Size: size}
	if base != "" {
		e.Path = base + "/" + name
	}
	if p.Dropped > 0 {
		e.Head, e.Tail = p.Data[:p.Head:p.Head], p.Data[p.Head:]
	}
	e.trim(last)
	if b.StripANSI {
		e.strip(last)
	}
	return e
}
