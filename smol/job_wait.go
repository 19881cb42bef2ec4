package smol

import (
	"context"
	"errors"
	"iter"

	"github.com/smol-machines/smol-go/internal/guest"
)

// Wait waits until the job has ended and tells how. As with [Cmd.Wait] the error is nil if it exited with 0, and an [*ExitError] with the ends of
// its standard error if it ended otherwise; in both cases the state is not nil. A job that is lost is an error that matches [ErrUnavailable].
// Any number of callers can wait. The end of ctx ends the wait only.
func (j *Job) Wait(ctx context.Context) (*CmdState, error) {
	r := j.follow(ctx)
	r.err, r.quiet = newClipSink(), true
	err := j.attend(r)
	return r.state, j.wrap("wait for job", err)
}

// attend follows the job to its end.
func (j *Job) attend(r *run) error {
	if err := validateJobID(j.id); err != nil {
		return err
	}
	defer r.dropStage()
	reply, err := r.poll(false)
	if err == nil {
		j.known.Store(true)
		err = r.attend(reply)
	}
	if errors.Is(err, guest.ErrNoJob) {
		if j.known.Load() {
			return forgottenCommand()
		}
		return j.noJob()
	}
	var exit *ExitError
	if errors.As(err, &exit) && exit.Stderr == nil {
		exit.Stderr = []byte{}
	}
	return err
}

// OutputOptions are the knobs of [Job.Output]. Nil and the zero value give the output from its beginning.
type OutputOptions struct {
	// From is the offset to begin at: Chunk.Next of what was read last, in this program or another.
	From JobOffset
}

// Chunk is a piece of a job's output.
type Chunk struct {
	// Stream is "stdout" or "stderr".
	Stream string
	// Data is the output, in exact bytes. It is only valid until the next chunk.
	Data []byte
	// Next is the offset after the chunk.
	Next JobOffset
}

// Output yields the output of the job from an offset on, as it is written, until the job has ended and all of it was had. How the job ended is told by
// [Job.Wait]; it is no error here, except that it is lost. A sequence that ends early, since ctx has ended or the machine does not answer any
// more, has yielded an error. Leaving the range does not touch the job. Each stream is in order; how the two lie between each other is not known.
func (j *Job) Output(ctx context.Context, opts *OutputOptions) iter.Seq2[Chunk, error] {
	var o OutputOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(Chunk, error) bool) {
		if err := o.From.validate("OutputOptions.From"); err != nil {
			yield(Chunk{}, j.wrap("read job", err))
			return
		}
		c := &chunks{next: o.From, yield: yield}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		c.stop = stop
		r := j.follow(ctx)
		r.out, r.err = newSink(&chunkWriter{c, "stdout", &c.next.Stdout}), newSink(&chunkWriter{c, "stderr", &c.next.Stderr})
		r.out.next, r.err.next = o.From.Stdout, o.From.Stderr
		err := j.attend(r)
		var exit *ExitError
		if c.left || err == nil || errors.As(err, &exit) {
			return
		}
		yield(Chunk{}, j.wrap("read job", err))
	}
}

// chunks is one range over the output of a job.
type chunks struct {
	next  JobOffset
	yield func(Chunk, error) bool
	left  bool
	stop  func()
}

// chunkWriter yields what it is to write.
type chunkWriter struct {
	c      *chunks
	stream string
	offset *int64
}

// errLeft ends a run whose output is not wanted any more.
var errLeft = errors.New("the range was left")

// Write implements io.Writer.
func (w *chunkWriter) Write(b []byte) (int, error) {
	if w.c.left {
		return 0, errLeft
	}
	*w.offset += int64(len(b))
	if !w.c.yield(Chunk{Stream: w.stream, Data: b, Next: w.c.next}, nil) {
		w.c.left = true
		w.c.stop()
		return 0, errLeft
	}
	return len(b), nil
}
