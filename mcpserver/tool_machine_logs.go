package mcpserver

import "context"

type machineLogsArgs struct {
	nameArgs
	Tail   int    `json:"tail,omitempty" jsonschema:"lines, if there is no cursor"`
	Cursor string `json:"cursor,omitempty"`
}

type machineLogsResult struct {
	Lines     []string `json:"lines"`
	Cursor    string   `json:"cursor"`
	Truncated bool     `json:"truncated"`
}

func machineLogs(cfg *Config) *definition {
	return define(about{
		name: "machine-logs", title: "Machine logs", toolset: "core",
		description: "Read what a machine itself has said since its last boot: its kernel and boot console or, where the cloud has none, its events. Use it for a machine that start-machine does not bring up. poll-command has what commands wrote; what a local machine's cmd wrote is not kept. " +
			"Returns the newest tail lines and a cursor; a call with that cursor returns the lines since. truncated: true means that the log began anew, after a reboot or a rotation, and lines may be missing. Changes and boots nothing. CONFLICT: a local machine that was never booted.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) {
		s.text("name").def("tail", cfg.LogsTail).least("tail", 1).most("tail", 10_000)
	}, func(ctx context.Context, c *call, in machineLogsArgs) (*machineLogsResult, error) {
		return c.logs(ctx, c.machine(in.Name), in.Tail, in.Cursor)
	})
}
