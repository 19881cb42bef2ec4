package mcpserver

import "context"

type nameArgs struct {
	Name string `json:"name"`
}

func getMachine(*Config) *definition {
	return define(about{
		name: "get-machine", title: "Get machine", toolset: "core",
		description: "Look at one machine: its state, size, egress policy and addresses as the fleet tells them now. Changes nothing, boots nothing. " +
			"NOT_FOUND means there is none of that name on this fleet; list-machines shows which there are.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) { s.text("name") }, func(ctx context.Context, c *call, in nameArgs) (*machineResult, error) {
		return c.info(ctx, c.machine(in.Name))
	})
}
