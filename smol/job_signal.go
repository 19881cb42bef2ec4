package smol

import (
	"context"
	"errors"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

// Signal sends a signal to the job and its process group; with [Kill] also to everything else that it started, even after its end. A job that has
// ended matches [ErrConflict], one that is not there [ErrNotFound]. A machine that does not run is not booted: that is a [*StateError].
func (j *Job) Signal(ctx context.Context, s Signal) error {
	_, err := j.signal(ctx, s)
	return j.wrap("signal job", err)
}

func (j *Job) signal(ctx context.Context, s Signal) (*guest.Reply, error) {
	if err := validateJobID(j.id); err != nil {
		return nil, err
	}
	if s.Number() == 0 {
		return nil, invalidf("Signal", "%q is none of the signals of this package", string(s))
	}
	m := j.machine
	reply, err := m.ask(ctx, limit.Urgent, &question{check: j.stay, build: func(bool) request {
		argv, err := (&guest.Signal{ID: j.id, Bases: m.bases(), Signal: string(s), Known: true}).Command()
		return request{argv: argv, err: err}
	}})
	switch {
	case err == nil:
		j.known.Store(true)
	case errors.Is(err, guest.ErrEnded):
		return nil, &Error{Code: CodeConflict, Err: err, Message: "the job has ended"}
	case errors.Is(err, guest.ErrNoJob):
		return nil, j.noJob()
	}
	return reply, err
}

// killGrace is [KillOptions.Grace] if that is zero.
const killGrace = 5 * time.Second

// KillOptions are the knobs of [Job.Kill]. Nil and the zero value give the job 5 seconds to end by itself.
type KillOptions struct {
	// Grace is how long the job has after the signal TERM before KILL follows. Zero: 5 seconds. Negative: KILL is sent at once.
	Grace time.Duration
}

// Kill ends the job: it sends TERM, and KILL to it and everything it started once it has ended or the grace is over. It returns when nothing of
// the job is left; a job that had ended before, or that is lost, is no error. One that is not there matches [ErrNotFound]. When ctx ends the
// job may be left running.
func (j *Job) Kill(ctx context.Context, opts *KillOptions) error {
	var o KillOptions
	if opts != nil {
		o = *opts
	}
	err := j.kill(ctx, o)
	if errors.Is(err, guest.ErrNoJob) && j.known.Load() {
		err = nil // it is lost, and nothing of it is left
	}
	return j.wrap("kill job", err)
}

func (j *Job) kill(ctx context.Context, o KillOptions) error {
	if o.Grace == 0 {
		o.Grace = killGrace
	}
	if o.Grace > 0 {
		if err := j.ask(ctx, o.Grace); err != nil {
			return err
		}
	}
	pause := newPause(20*time.Millisecond, time.Second)
	for until := time.Now().Add(killTime); ; {
		_, err := j.signal(ctx, Kill)
		if err == nil || !transient(err) || time.Now().After(until) {
			return err
		}
		if err := pause.wait(ctx); err != nil {
			return err
		}
	}
}

// ask sends TERM and waits a little for the end.
func (j *Job) ask(ctx context.Context, grace time.Duration) error {
	reply, err := j.signal(ctx, Terminate)
	var e *Error
	if errors.As(err, &e) && errors.Is(err, guest.ErrEnded) || transient(err) {
		return nil // what follows says more
	}
	if err != nil || reply.State != guest.Running {
		return err
	}
	_, err = j.Poll(ctx, &PollOptions{Wait: grace, Budget: Budget{Bytes: 1}})
	if transient(err) {
		return nil
	}
	return err
}
