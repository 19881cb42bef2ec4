package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// run starts a command in m and waits for it. A machine without a shell cannot keep a command: there the call waits for its end.
func (c *call) run(ctx context.Context, m *smol.Machine, in commandArgs, wait time.Duration) (*commandResult, error) {
	cmd, err := in.cmd(c.config(), m)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	first := wait
	if c.progress() {
		first = min(wait, quiet)
	}
	job, err := cmd.StartJob(ctx, &smol.JobOptions{Poll: &smol.PollOptions{Wait: first, Budget: c.budget()}})
	if job == nil && errors.Is(err, errors.ErrUnsupported) {
		return c.runPlain(ctx, m, in)
	}
	if err != nil {
		return nil, leftRunning(ctx, job, err)
	}
	part := job.First()
	if part == nil || part.State == smol.JobRunning && first < wait {
		if part, err = c.follow(ctx, job, smol.JobOffset{}, until); err != nil {
			return nil, leftRunning(ctx, job, err)
		}
	}
	return resultOf(m, job.ID(), part), nil
}

// runPlain runs a command that the machine cannot keep.
func (c *call) runPlain(ctx context.Context, m *smol.Machine, in commandArgs) (*commandResult, error) {
	cmd, err := in.cmd(c.config(), m)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *smol.ExitError
	if err := cmd.Run(ctx); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	res := plainResult(m, cmd.State, c.budget().Clip(stdout.Bytes()), c.budget().Clip(stderr.Bytes()))
	if cmd.State != nil {
		res.Hint = cmd.State.Missing
	}
	return res, nil
}

// leftRunning adds to an error which job goes on in the machine.
func leftRunning(ctx context.Context, job *smol.Job, err error) error {
	if job == nil {
		return err
	}
	e := *toToolError(ctx, err)
	e.Message += "; the command may run on as " + job.ID()
	e.Hint = "poll-command with that job tells what became of it; signal-command ends it."
	return &e
}
