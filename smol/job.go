package smol

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// Job is a handle of a command that a machine keeps. It outlives the program that started it and a restart of the service, and
// it goes on when nobody asks after it. Its output lies in files of the machine until it is removed, at most 1 GiB of
// each stream as long as the job runs; see [Cmd.StartJob]. Any number of handles can
// exist, in any number of programs: [Machine.Job] makes one from the id. It is safe for concurrent use.
//
// A context that ends ends the call and never the job.
type Job struct {
	machine *Machine
	visit   *visit // what the job was started in, if that was done through this handle
	id      string
	first   *JobPart
	known   atomic.Bool // the machine has told of it
}

// JobState is what a job is doing, or how it ended.
type JobState string

// The states of a job.
const (
	// JobRunning: it has not ended.
	JobRunning JobState = "running"
	// JobExited: it ended by itself, or by a signal that was not ours, which looks like the exit code 128+n.
	JobExited JobState = "exited"
	// JobTimedOut: [Cmd.Timeout] ended it.
	JobTimedOut JobState = "timed_out"
	// JobSignaled: a signal of [Job.Signal] or [Job.Kill] ended it, or too much output.
	JobSignaled JobState = "signaled"
	// JobLost: it is gone, and how it ended cannot be told. Its files were deleted or damaged under it, or it died with its machine.
	JobLost JobState = "lost"
)

// JobOffset is a place in the output of a job, in bytes of each stream. The zero value is the beginning. It can be stored, as JSON for
// instance, and be used by another program.
type JobOffset struct {
	// Stdout and Stderr are how many bytes of each stream come before.
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

func (o JobOffset) validate(field string) error {
	if err := notNegative(field+".Stdout", o.Stdout); err != nil {
		return err
	}
	return notNegative(field+".Stderr", o.Stderr)
}

// maxJobOutput is the most bytes of a stream that a job may write.
const maxJobOutput = 1 << 30

// Job returns a handle of the machine's job with that id. It does no I/O: whether there is such a job shows at the first call, as an error
// that matches [ErrNotFound].
func (m *Machine) Job(id string) *Job { return &Job{machine: m, visit: &visit{m: m}, id: id} }

// ID returns the job's id: job-YYYYMMDD-HHMMSS-xxxxxx, its start in UTC by the clock of the program that started it, and a random part.
// Ids sort by time.
func (j *Job) ID() string { return j.id }

// Machine returns the machine that keeps the job.
func (j *Job) Machine() *Machine { return j.machine }

// stay is the check of calls about the job, which boot nothing.
func (j *Job) stay(ctx context.Context) error { return j.visit.stay(ctx, false) }

// wrap gives err the names of the operation.
func (j *Job) wrap(op string, err error) error { return wrapError(op, j.machine.Name(), err) }

// validateJobID checks an id before it is sent.
func validateJobID(id string) error {
	if id == "" || len(id) > maxName {
		return invalidf("job id", "has %d bytes; it is as Job.ID tells it", len(id))
	}
	for i := range len(id) {
		if c := id[i]; !isAlnum(c) && !strings.ContainsRune("-_", rune(c)) {
			return invalidf("job id", "%q may have only ASCII letters, digits, '_' and '-'", id)
		}
	}
	return nil
}

// jobTime is the start that a job's id tells, or the zero time if it tells none.
func jobTime(id string) time.Time {
	const form = "job-20060102-150405"
	if len(id) < len(form) {
		return time.Time{}
	}
	t, err := time.Parse(form, id[:len(form)])
	if err != nil {
		return time.Time{}
	}
	return t
}

// noJob says that the machine knows nothing of the job.
func (j *Job) noJob() error {
	return &Error{
		Code: CodeNotFound, Err: guest.ErrNoJob, Message: "there is no job " + j.id + " in the machine",
		Hint: "Machine.Jobs lists those that there are; old ones are removed, and so are those of a machine that was deleted",
	}
}
