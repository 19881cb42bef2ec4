package smol

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

// JobInfo is what [Machine.Jobs] tells of a job.
type JobInfo struct {
	// ID is for [Machine.Job].
	ID string
	// State, ExitCode and Signal are those of [JobPart].
	State    JobState
	ExitCode int
	Signal   Signal
	// Hint is that of [JobPart].
	Hint string
	// Command is the command with its arguments, shortened if they are many or long. Nil if it is not known.
	Command []string
	// Started is when the job was started, by the clock of the program that did it, in whole seconds. Ended is when it ended; the zero time for a job
	// that runs or is lost.
	Started, Ended time.Time
}

// Jobs yields the jobs of the machine, the newest first, whichever program started them. The first error ends the sequence. Ranging again asks
// again. Jobs that ended more than an hour ago are removed when there are more than 50 of them.
func (m *Machine) Jobs(ctx context.Context) iter.Seq2[*JobInfo, error] {
	return func(yield func(*JobInfo, error) bool) {
		all, err := m.listJobs(ctx)
		if err != nil {
			yield(nil, wrapError("list jobs", m.Name(), err))
			return
		}
		slices.SortStableFunc(all, func(a, b guest.Listed) int { return strings.Compare(b.ID, a.ID) })
		for i := range all {
			if !yield(newJobInfo(&all[i]), nil) {
				return
			}
		}
	}
}

func newJobInfo(l *guest.Listed) *JobInfo {
	p := newJobPart(l.ID, &guest.Reply{State: l.State, Code: l.Code, Started: l.Started, Ended: l.Ended}, Budget{})
	info := &JobInfo{
		ID: l.ID, State: p.State, ExitCode: p.ExitCode, Signal: p.Signal, Hint: p.Hint, Command: parseJobNote(l.Note), Started: jobTime(l.ID),
	}
	if p.ExitCode >= 0 && !info.Started.IsZero() {
		info.Ended = info.Started.Add(p.Duration)
	}
	return info
}

// listJobs asks the machine for its jobs, in any order.
func (m *Machine) listJobs(ctx context.Context) (all []guest.Listed, err error) {
	if err := m.guest.shell(); err != nil {
		return nil, noJobs(err)
	}
	err = m.inPlace(ctx, limit.Short, func(ctx context.Context, id string) error {
		argv, err := (&guest.List{Bases: m.bases()}).Command()
		if err != nil {
			return err
		}
		res, err := m.fleet.backend.Exec(ctx, id, &ExecRequest{Argv: argv, Timeout: m.fleet.execTimeout(0)})
		if err != nil {
			return shellError(err)
		}
		all, err = guest.ParseList(res.Stdout)
		if errors.Is(err, guest.ErrNoShell) {
			return noReply(res)
		}
		return err
	}, m.requireRunning)
	if err = m.confirmNoShell(ctx, err); needsPlain(err) {
		return nil, noJobs(err)
	}
	return all, err
}

// Remove removes the job's output and what is known of it from the machine. A job that runs is left alone, with an error that matches [ErrConflict];
// one that is not there matches [ErrNotFound]. If not all of its files can be removed the error matches [ErrPermission] and names their directory.
func (j *Job) Remove(ctx context.Context) error {
	return j.wrap("remove job", j.remove(ctx))
}

func (j *Job) remove(ctx context.Context) error {
	if err := validateJobID(j.id); err != nil {
		return err
	}
	m := j.machine
	_, err := m.askShort(ctx, j.stay, func() (request, error) {
		argv, err := (&guest.Remove{ID: j.id, Bases: m.bases()}).Command()
		return request{argv: argv}, err
	})
	switch {
	case err == nil:
		j.known.Store(false)
	case errors.Is(err, guest.ErrBusy):
		return &Error{Code: CodeConflict, Err: err, Message: "the job runs", Hint: "kill it first"}
	case errors.Is(err, guest.ErrStuck):
		j.known.Store(false)
		return stuckFiles(err)
	case errors.Is(err, guest.ErrNoJob):
		return j.noJob()
	}
	return err
}

// stuckFiles says what has stayed of jobs that were removed.
func stuckFiles(err error) error {
	return &Error{
		Code: CodePermissionDenied, Err: err, Message: err.Error(),
		Hint: "see in that directory of the machine what keeps them: a mount, or a file system that cannot be written",
	}
}

// PruneOptions are the knobs of [Machine.PruneJobs]. Nil and the zero value remove what every start of a job removes.
type PruneOptions struct {
	// Keep is how many of the newest ended jobs stay, whatever their age. Zero: 50. Negative: none.
	Keep int
	// Age is how long ago a job must have ended. Zero: an hour. Negative: any time.
	Age time.Duration
}

// The defaults of [PruneOptions], which are those of the runner in the machine.
const (
	pruneKeep = 50
	pruneAge  = time.Hour
)

// PruneJobs removes old jobs, as [Job.Remove] does, and tells how many. Jobs that run stay. If not all of their files can be
// removed the error matches [ErrPermission] and names the directory.
func (m *Machine) PruneJobs(ctx context.Context, opts *PruneOptions) (int, error) {
	var o PruneOptions
	if opts != nil {
		o = *opts
	}
	if o.Keep == 0 {
		o.Keep = pruneKeep
	}
	if o.Age == 0 {
		o.Age = pruneAge
	}
	reply, err := m.askShort(ctx, m.requireRunning, func() (request, error) {
		argv, err := (&guest.Prune{Bases: m.bases(), Keep: max(0, o.Keep), Age: max(0, o.Age)}).Command()
		return request{argv: argv}, err
	})
	if errors.Is(err, guest.ErrStuck) {
		err = stuckFiles(err)
	}
	if err != nil {
		return 0, wrapError("prune jobs", m.Name(), err)
	}
	return int(reply.StdoutSize), nil
}

// askShort sends a request about jobs that is answered at once, to a machine that runs.
func (m *Machine) askShort(ctx context.Context, check func(context.Context) error, build func() (request, error)) (*guest.Reply, error) {
	reply, err := m.ask(ctx, limit.Short, &question{check: check, build: func(bool) request {
		req, err := build()
		req.err = err
		return req
	}})
	if needsPlain(err) {
		return nil, noJobs(err)
	}
	return reply, err
}
