package smol

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// JobOptions are the knobs of [Cmd.StartJob]. Nil and the zero value start the job and do not wait.
type JobOptions struct {
	// Poll makes the start the first [Job.Poll] as well, which saves a round trip: a command that is quick comes back whole. Its
	// answer is [Job.First]. From is not used. Nil: there is none.
	Poll *PollOptions
}

// StartJob starts the command as a job and returns when the machine has said that it runs. The context bounds the call and not
// the job. Cmd.Stdout and Cmd.Stderr must be nil: a job's output stays in the machine, at most 1 GiB of each stream. Once a second
// it is looked whether there is more: then the job is killed with everything it started, and what is beyond is cut off. That ends with the job:
// what the command leaves running can write on to the same files, and nobody looks how much. Cmd.Stdin and Cmd.Timeout are those of Cmd.
//
// The id is chosen here, so a start whose answer is lost finds its job and never starts it twice. When StartJob fails at a time at which the job
// may have been started, it returns the error together with the job, which can be polled or killed. It needs a shell in the machine, or fails with
// an error that matches errors.ErrUnsupported.
func (c *Cmd) StartJob(ctx context.Context, opts *JobOptions) (*Job, error) {
	job, err := c.startJob(ctx, opts)
	return job, wrapError("start job", c.machine.Name(), err)
}

func (c *Cmd) startJob(ctx context.Context, opts *JobOptions) (*Job, error) {
	if opts == nil {
		opts = &JobOptions{}
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Stdout != nil || c.Stderr != nil {
		return nil, invalidf("Cmd.Stdout or Cmd.Stderr", "is set; the output of a job stays in the machine: use Job.Poll or Job.Output")
	}
	poll, err := opts.Poll.clone()
	if err != nil {
		return nil, err
	}
	poll.From = JobOffset{}
	c.mu.Lock()
	if c.run != nil {
		c.mu.Unlock()
		return nil, &Error{Code: CodeInvalid, Message: "the command was already started; a Cmd cannot be reused"}
	}
	r := newRun(ctx, c, opts.Poll != nil && poll.Wait > 0)
	c.run = r
	c.mu.Unlock()
	r.asJob(poll)
	r.watch.mute = opts.Poll == nil
	return r.startJob(poll, opts.Poll != nil)
}

// asJob makes the run the start of a job.
func (r *run) asJob(poll *PollOptions) {
	r.start.ID = guest.NewID(time.Now())
	r.start.Argv, r.shift = r.args, 0
	r.start.Limit, r.start.Note = maxJobOutput, jobNote(r.args)
	r.watch = newWatch(poll)
}

func (r *run) startJob(poll *PollOptions, first bool) (*Job, error) {
	r.result = &Error{Code: CodeInvalid, Message: "the command was started as a job; use Job.Wait"}
	defer close(r.done)
	defer r.dropStdin()
	if err := r.m.guest.shell(); err != nil {
		return nil, noJobs(err)
	}
	if err := r.sendStdin(); err != nil {
		return nil, err
	}
	reply, err := r.begin()
	if needsPlain(err) {
		return nil, noJobs(err)
	}
	job := &Job{machine: r.m, visit: r.visit, id: r.start.ID}
	if err != nil {
		if !r.mayRun(err) {
			return nil, err
		}
		return job, err
	}
	close(r.begun)
	job.known.Store(true)
	if !first {
		return job, nil
	}
	part, err := job.watch(r, reply)
	job.first = part
	return job, err
}

// mayRun reports whether the job may have been started, though begin failed.
func (r *run) mayRun(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent && (r.ctx.Err() != nil || ambiguous(err))
}

// First returns what the machine answered to the start of the job with [JobOptions.Poll]; nil for every other handle.
func (j *Job) First() *JobPart { return j.first }

// noJobs says why there are no jobs in the machine.
func noJobs(why error) error {
	hint := "use Cmd.Run, or an image with a POSIX shell"
	if errors.Is(why, guest.ErrNoBase) {
		hint = "make /workspace or /var/tmp writable"
	}
	return &Error{Code: CodeUnsupported, Err: why, Message: "jobs cannot be kept in this machine: " + plainText(why), Hint: hint}
}

// maxJobWord and maxJobWords bound how much of a command the machine remembers for [Machine.Jobs].
const maxJobWord, maxJobWords = 256, 8

// jobNote is what the machine remembers of a command: its first arguments as a JSON list, each cut to some length.
func jobNote(args []string) string {
	var words []string
	for _, a := range args[:min(len(args), maxJobWords)] {
		if len(a) > maxJobWord {
			cut := []byte(a[:maxJobWord])
			a = string(cut[:len(cut)-incomplete(cut)]) + "..."
		}
		words = append(words, a)
	}
	if len(args) > maxJobWords {
		words = append(words, "...")
	}
	note, err := json.Marshal(words)
	if err != nil || len(note) > guest.MaxNote {
		note, _ = json.Marshal(words[:1]) // strings always can be
	}
	if len(note) > guest.MaxNote {
		return ""
	}
	return string(note)
}

// parseJobNote is the reverse of jobNote, nil for anything else.
func parseJobNote(note string) (args []string) {
	if json.Unmarshal([]byte(note), &args) != nil {
		return nil
	}
	return args
}
