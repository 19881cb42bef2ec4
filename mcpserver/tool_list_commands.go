package mcpserver

import (
	"context"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

type listCommandsResult struct {
	Commands []commandEntry `json:"commands"`
}

type commandEntry struct {
	Job        string  `json:"job"`
	State      string  `json:"state"`
	ExitCode   *int    `json:"exitCode"`
	StartedAt  *string `json:"startedAt"`
	FinishedAt *string `json:"finishedAt"`
	Command    string  `json:"command"`
}

func listCommands(*Config) *definition {
	return define(about{
		name: "list-commands", title: "List commands", toolset: "jobs",
		description: "List the commands that a machine keeps, newest first, also those of other sessions and those that ended within run-command. The newest 50 are kept, and others for an hour after their end. " +
			"Use it to find a job you have no id of, as after a call that the client gave up; poll-command reads its output, signal-command stops it. " +
			"Returns of each the job, the command, times (RFC 3339), exit code and state: running, exited, signaled (by signal-command, or beyond 1 GiB of output), timed_out or lost (how it ended is not known). CONFLICT: the machine does not run.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) { s.text("name") }, func(ctx context.Context, c *call, in nameArgs) (*listCommandsResult, error) {
		res := &listCommandsResult{Commands: []commandEntry{}}
		for info, err := range c.machine(in.Name).Jobs(ctx) {
			if err != nil {
				return nil, err
			}
			e := commandEntry{
				Job: info.ID, State: string(info.State), StartedAt: timestamp(info.Started), FinishedAt: timestamp(info.Ended),
				Command: commandText(info.Command),
			}
			if info.State != smol.JobRunning && info.State != smol.JobLost {
				e.ExitCode = &info.ExitCode
			}
			res.Commands = append(res.Commands, e)
		}
		return res, nil
	})
}

// commandText returns a command as a person would type it.
func commandText(argv []string) string {
	if len(argv) == 3 && argv[0] == "sh" && argv[1] == "-c" {
		return argv[2]
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; w == "" || strings.ContainsAny(w, " \t\n\"'`$&|;<>()*?[]#~\\{}!") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
