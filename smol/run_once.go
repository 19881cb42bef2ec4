package smol

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// RunOnceOptions are the knobs of [Fleet.RunOnce]. Nil and the zero value run the command without input, in the machine's own
// environment and directory, and collect its output.
type RunOnceOptions struct {
	// Stdin is what the command reads. Nil: the null device.
	Stdin io.Reader
	// Stdout and Stderr receive the output as it comes. Nil: it is collected in the result.
	Stdout, Stderr io.Writer
	// Env, Dir and Timeout are those of [Cmd].
	Env     []string
	Dir     string
	Timeout time.Duration
	// Create has the knobs of the machine's creation.
	Create *CreateOptions
}

// RunResult is what [Fleet.RunOnce] leaves of a machine.
type RunResult struct {
	// Machine is the name that the machine had.
	Machine string
	// Stdout and Stderr are the output, as far as it was not sent to writers.
	Stdout, Stderr []byte
	// State tells how the command ended; nil if that is not known.
	State *CmdState
}

// RunOnce creates a machine, runs one command in it and deletes the machine, whatever happens: also when the command fails, when
// ctx ends and when a writer panics. The result is not nil once the command has been started, so that it tells what the command
// wrote before it failed; the error is that of [Cmd.Run], joined with that of the deletion if this failed too.
func (f *Fleet) RunOnce(ctx context.Context, spec Spec, argv []string, opts *RunOnceOptions) (res *RunResult, err error) {
	if opts == nil {
		opts = &RunOnceOptions{}
	}
	c := &Cmd{
		machine: f.Machine(spec.Name), Args: argv, Env: opts.Env, Dir: opts.Dir, Timeout: opts.Timeout,
		Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr,
	}
	if err := c.validate(); err != nil {
		return nil, c.wrap(err)
	}
	m, err := f.Create(ctx, spec, opts.Create)
	if err != nil {
		return nil, err
	}
	defer func() {
		if del := m.Discard(); del != nil {
			err = errors.Join(err, del)
		}
	}()
	c.machine = m
	c.quiet = c.Stdout == nil && c.Stderr == nil
	var stdout, stderr bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &stdout
	}
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	err = c.Run(ctx)
	return &RunResult{Machine: m.Name(), State: c.State, Stdout: c.collected(&stdout), Stderr: c.collected(&stderr)}, err
}
