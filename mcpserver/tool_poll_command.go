package mcpserver

import (
	"context"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

type pollCommandArgs struct {
	jobArgs
	StdoutOffset int64 `json:"stdoutOffset,omitempty"`
	StderrOffset int64 `json:"stderrOffset,omitempty"`
	WaitSecs     int   `json:"waitSecs,omitempty" jsonschema:"this call waits"`
}

type jobArgs struct {
	nameArgs
	Job string `json:"job"`
}

func pollCommand(cfg *Config) *definition {
	return define(about{
		name: "poll-command", title: "Poll command", toolset: "jobs",
		description: "Wait for a command that run-command left running. Returns what run-command does, with the output since the offsets, in bytes. It returns when the command ends, or after waitSecs with running: true: call it again with the offsets it gave. " +
			"Changes nothing; an offset can be polled again, also after the end. Also for commands of an earlier session, which list-commands finds. " +
			"NOT_FOUND: no such job. CONFLICT: the machine does not run; a restart of it leaves a job that ran lost: exitCode null, running false.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) {
		s.text("name", "job").def("stdoutOffset", 0).def("stderrOffset", 0).wait(cfg)
	}, func(ctx context.Context, c *call, in pollCommandArgs) (*commandResult, error) {
		m := c.machine(in.Name)
		job := m.Job(in.Job)
		from := smol.JobOffset{Stdout: in.StdoutOffset, Stderr: in.StderrOffset}
		part, err := c.follow(ctx, job, from, time.Now().Add(waitOf(in.WaitSecs)))
		if err != nil {
			return nil, err
		}
		return resultOf(m, job.ID(), part), nil
	})
}
