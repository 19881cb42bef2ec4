package mcpserver

import "context"

type machineLogsArgs struct {
	nameArgs
	Tail   int    `json:"tail,omitempty" jsonschema:"newest lines, without cursor"`
	Cursor string `json:"cursor,omitempty" jsonschema:"from the result before"`
}

type machineLogsResult struct {
	Lines     []string `json:"lines"`
	Cursor    string   `json:"cursor"`
	Truncated bool     `json:"truncated" jsonschema:"lines are missing before these"`
}

func machineLogs(cfg *Config) *definition {
	return define(about{
		name: "machine-logs", title: "Machine logs", toolset: "core",
		description: "Read what a machine itself has said: the console of its kernel and its boot or, where the cloud has none, the machine's events. For a machine that does not come up; what commands wrote is in poll-command. " +
			"Returns lines and a cursor: without cursor the newest tail lines, with that of the result before those that came since. truncated: true means that it began anew, after a reboot or a rotation. Changes nothing, boots nothing.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) {
		s.text("name").def("tail", cfg.LogsTail).least("tail", 1).most("tail", 10_000)
	}, func(ctx context.Context, c *call, in machineLogsArgs) (*machineLogsResult, error) {
		return c.logs(ctx, c.machine(in.Name), in.Tail, in.Cursor)
	})
}
