package mcpserver

import (
	"context"
	"time"
)

type runCommandArgs struct {
	nameArgs
	commandArgs
	WaitSecs int `json:"waitSecs,omitempty" jsonschema:"this call waits"`
}

func runCommand(cfg *Config) *definition {
	return define(about{
		name: "run-command", title: "Run command", toolset: "core",
		description: "Run a command in a machine and return its output and exit code (128+n: signal n). A command that fails is a result, not an error; hint explains a misleading code. A stopped machine is booted first (startedMachine), and on cloud billed as running. " +
			"A command that still runs after waitSecs comes back with running: true, exitCode null and a job: go on with poll-command, stop it with signal-command. It also runs on if the call is cancelled: list-commands finds it. " +
			"timeoutSecs (at most " + seconds(cfg.MaxExecTimeout) + ") kills it with all that it started: timedOut, exit code 124. For longer, start it in the background: server >log 2>&1 & runs on until the machine stops. " +
			"Of each stream " + bytesText(cfg.MaxOutputBytes) + " come back, the beginning and the end; overflow names the file with all of it, for read-file. " +
			"Each call is a new process: cd and exports do not carry over, use workdir and env. It runs as the image's user, mostly root. For one command in a machine of its own see run-once.",
		hints: hints{destructive: true, openWorld: true},
	}, func(s set) {
		s.text("name").commandArgs(cfg).wait(cfg)
	}, func(ctx context.Context, c *call, in runCommandArgs) (*commandResult, error) {
		return c.run(ctx, c.machine(in.Name), in.commandArgs, waitOf(in.WaitSecs))
	})
}

// wait completes the schema of waitSecs.
func (s set) wait(cfg *Config) set {
	return s.def("waitSecs", int(cfg.Wait/time.Second)).least("waitSecs", 0).most("waitSecs", max(cfg.Wait, cfg.MaxExecTimeout).Seconds())
}
