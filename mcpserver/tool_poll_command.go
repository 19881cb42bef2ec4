package mcpserver

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

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
	return briefOverflow(define(about{
		name: "poll-command", title: "Poll command", toolset: "jobs",
		description: "Wait for a command that run-command left running. Returns what run-command does, with the output since the offsets (bytes, default 0); of more than " + bytesText(cfg.MaxOutputBytes) + " the beginning and the end. It returns when the command ends, or after waitSecs with running: true: call it again with the offsets it gave. " +
			"Changes nothing; an offset can be polled again, also after the end. Also for commands of an earlier session, which list-commands finds. " +
			"NOT_FOUND: no such job. CONFLICT: the machine does not run; after a restart the jobs it cut off are lost: exitCode null, running false.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) {
		s.text("name", "job").wait(cfg)
	}, func(ctx context.Context, c *call, in pollCommandArgs) (*commandResult, error) {
		m := c.machine(in.Name)
		job := m.Job(in.Job)
		from := smol.JobOffset{Stdout: in.StdoutOffset, Stderr: in.StderrOffset}
		part, err := c.follow(ctx, job, from, time.Now().Add(waitOf(in.WaitSecs)))
		if err != nil {
			return nil, err
		}
		return resultOf(m, job.ID(), part), nil
	}))
}

// briefOverflow leaves what an entry of overflow holds to run-command, which poll-command and run-once refer to: a list of tools has no room for
// saying it three times.
func briefOverflow(d *definition) *definition {
	d.out.Properties["overflow"].Items = &jsonschema.Schema{Type: "object"}
	return d
}
