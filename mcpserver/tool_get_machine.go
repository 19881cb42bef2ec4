package mcpserver

import "context"

type nameArgs struct {
	Name string `json:"name"`
}

func getMachine(*Config) *definition {
	return define(about{
		name: "get-machine", title: "Get machine", toolset: "core",
		description: "Look at one machine as its fleet tells it now: state, size, address, egress (network: open, blocked or allow(host,cidr,...)), createdAt in Unix seconds and, on cloud, when it stops and is deleted by itself. " +
			"Use it to see whether a machine is there and runs; list-machines finds names. Changes nothing, boots nothing. NOT_FOUND: there is none of that name on this fleet.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) { s.text("name") }, func(ctx context.Context, c *call, in nameArgs) (*machineResult, error) {
		return c.info(ctx, c.machine(in.Name))
	})
}
