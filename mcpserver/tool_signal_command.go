package mcpserver

import (
	"context"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// signalWait is how long signal-command waits for the effect before it tells the state.
const signalWait = 500 * time.Millisecond

type signalCommandArgs struct {
	jobArgs
	Signal string `json:"signal,omitempty"`
}

type signalCommandResult struct {
	Job   string `json:"job"`
	State string `json:"state"`
}

func signalCommand(*Config) *definition {
	return define(about{
		name: "signal-command", title: "Signal command", toolset: "jobs",
		description: "Send a signal to a running command and its process group, to stop it early. Its output stays: poll-command reads it and tells the exit code. " +
			"Returns the state half a second later (see list-commands): running if it has not ended, as a program may ignore INT and TERM, but not KILL. CONFLICT: it has ended, or the machine does not run. NOT_FOUND: no such job.",
		hints: hints{destructive: true, idempotent: true},
	}, func(s set) {
		s.text("name", "job").def("signal", "INT").enum("signal", "INT", "TERM", "KILL")
	}, func(ctx context.Context, c *call, in signalCommandArgs) (*signalCommandResult, error) {
		job := c.machine(in.Name).Job(in.Job)
		if err := job.Signal(ctx, smol.Signal(in.Signal)); err != nil {
			return nil, err
		}
		part, err := job.Poll(ctx, &smol.PollOptions{Wait: signalWait, Budget: smol.Budget{Bytes: 1}})
		if err != nil {
			return nil, err
		}
		return &signalCommandResult{Job: job.ID(), State: string(part.State)}, nil
	})
}
