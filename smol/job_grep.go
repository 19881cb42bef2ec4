package smol

import (
	"context"
	"errors"

	"github.com/smol-machines/smol-go/internal/guest"
)

// GrepOptions are the knobs of [Job.Grep]. Nil and the zero value look for a regular expression and give 64 KiB of each stream.
type GrepOptions struct {
	// Fixed takes the pattern as a text and not as a regular expression.
	Fixed bool
	// IgnoreCase takes no account of upper and lower case.
	IgnoreCase bool
	// Budget bounds the lines of each stream.
	Budget Budget
}

// GrepResult is what [Job.Grep] has found.
type GrepResult struct {
	// Stdout and Stderr are the matching lines of each stream, each after its number and a colon: "12:text". Size is how long they are together;
	// Path is the file with the whole stream, in which they were looked for.
	Stdout, Stderr Excerpt
}

// Grep looks for lines in the output that the job has written so far. It is done in the machine, so that only lines that match cross the wire, and
// of those no more than the budget. The pattern is an extended regular expression of POSIX, as of grep -E. One that cannot be understood
// matches [ErrInvalid]; a machine without grep, errors.ErrUnsupported; a job that is not there, [ErrNotFound].
func (j *Job) Grep(ctx context.Context, pattern string, opts *GrepOptions) (*GrepResult, error) {
	var o GrepOptions
	if opts != nil {
		o = *opts
	}
	found, err := j.grep(ctx, pattern, &o)
	return found, j.wrap("grep job", err)
}

func (j *Job) grep(ctx context.Context, pattern string, o *GrepOptions) (*GrepResult, error) {
	if err := validateJobID(j.id); err != nil {
		return nil, err
	}
	if err := o.Budget.validate("GrepOptions.Budget"); err != nil {
		return nil, err
	}
	m := j.machine
	reply, err := m.askShort(ctx, j.stay, func() (request, error) {
		g := &guest.Grep{
			ID: j.id, Bases: m.bases(), Pattern: pattern, Fixed: o.Fixed, IgnoreCase: o.IgnoreCase, Budget: int64(o.Budget.bytes()),
		}
		argv, err := g.Command()
		return request{argv: argv, view: g.View()}, err
	})
	switch {
	case err == nil:
		part := newJobPart(j.id, reply, o.Budget)
		return &GrepResult{Stdout: part.Stdout, Stderr: part.Stderr}, nil
	case errors.Is(err, guest.ErrPattern):
		return nil, &Error{Code: CodeInvalid, Err: err, Message: "pattern is " + plainText(err)}
	case errors.Is(err, guest.ErrNoTool):
		return nil, &Error{Code: CodeUnsupported, Err: err, Message: err.Error(), Hint: "read the output with Job.Output"}
	case errors.Is(err, guest.ErrNoJob):
		return nil, j.noJob()
	}
	return nil, err
}
