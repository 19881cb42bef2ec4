package smol

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/smol-machines/smol-go/internal/limit"
)

// StreamOptions are the knobs of [Machine.Stream]. Nil and the zero value run the command as [Cmd] with zero fields.
type StreamOptions struct {
	// Env is added to the environment, as NAME=value.
	Env []string
	// Dir is the absolute working directory. Empty: the fleet's default.
	Dir string
	// User runs the command as another user, on a fleet that can.
	User string
	// Timeout ends the command. Zero: never.
	Timeout time.Duration
}

// Stream runs a command over the fleet's own event stream and yields its output as it comes, and last an [Event] with
// Exited set. A stream that ends without that has yielded an error. It is for text that a person watches: bytes that are not
// UTF-8 are replaced, a carriage return becomes a line feed, a character can be cut in two, and a fleet ends a stream that gets
// too long. [Cmd] gives exact bytes and has no such limit.
//
// [Spec.Env] and [Spec.Dir] apply only on the handle that Create returned, except on a fleet that keeps them itself. The command
// has no input. Leaving the range early, or the end of ctx, ends the stream and, on some fleets, not the command. While it lasts
// the stream takes one of the machine's places for calls.
func (m *Machine) Stream(ctx context.Context, argv []string, opts *StreamOptions) iter.Seq2[Event, error] {
	var o StreamOptions
	if opts != nil {
		o = *opts
	}
	argv, o.Env = slices.Clone(argv), slices.Clone(o.Env)
	return func(yield func(Event, error) bool) {
		left, err := m.stream(ctx, argv, &o, yield)
		if err != nil && !left {
			yield(Event{}, wrapError("stream", m.Name(), err))
		}
	}
}

// stream reports whether the ranging has been left.
func (m *Machine) stream(ctx context.Context, argv []string, o *StreamOptions, yield func(Event, error) bool) (left bool, err error) {
	c := Cmd{machine: m, Args: argv, Env: o.Env, Dir: o.Dir, User: o.User, Timeout: o.Timeout}
	if err := c.validate(); err != nil {
		return false, err
	}
	b, ok := find[StreamBackend](m.fleet.backend)
	if !ok {
		return false, m.fleet.unsupported("stream", m.Name(), "event stream for commands", "use Command with Stdout set")
	}
	exited := false
	err = m.inPlace(ctx, limit.Ordinary, func(ctx context.Context, id string) error {
		env, dir := m.guest.defaults()
		req := &ExecRequest{Argv: argv, Env: append(env, o.Env...), Dir: orElse(o.Dir, dir), User: o.User, Timeout: o.Timeout}
		for ev, err := range b.Stream(ctx, id, req) {
			if err != nil {
				return err
			}
			exited = ev.Exited
			if left = !yield(ev, nil); left || exited {
				return nil
			}
		}
		return nil
	}, m.prepare)
	if err == nil && !exited && !left {
		err = &Error{
			Code: CodeUnavailable, Message: "the stream ended without the command's exit",
			Err: errors.Join(ctx.Err()), Hint: "the command may still run",
		}
	}
	return left, err
}

// Logs yields the lines of the machine's console, oldest first: what the system in it said since it was booted, and not what
// commands wrote. It boots nothing. It matches errors.ErrUnsupported on a fleet without a console.
func (m *Machine) Logs(ctx context.Context, opts *LogOptions) iter.Seq2[string, error] {
	var o LogOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(string, error) bool) {
		for line, err := range m.logs(ctx, o) {
			if err != nil {
				yield("", wrapError("logs", m.Name(), err))
				return
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// maxTail is the most lines that a service gives.
const maxTail = 10_000

func (m *Machine) logs(ctx context.Context, o LogOptions) iter.Seq2[string, error] {
	fail := func(err error) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { yield("", err) }
	}
	if o.Tail > maxTail {
		return fail(invalidf("LogOptions.Tail", "is %d; at most %d are allowed", o.Tail, maxTail))
	}
	b, ok := find[LogBackend](m.fleet.backend)
	if !ok {
		return fail(m.fleet.unsupported("logs", m.Name(), "console", "write logs to a file in the machine and read that"))
	}
	id, err := m.resolve(ctx)
	if err != nil {
		return fail(err)
	}
	return b.Logs(ctx, id, &o)
}
