package mcpserver

import "context"

type nameArgs struct {
	Name string `json:"name"`
}

func getMachine(*Config) *definition {
	return define(about{
		name: "get-machine", title: "Get machine", toolset: "core",
		description: "Look at one machine as it is now. Use it to see whether a machine is there and runs; list-machines finds names. Changes and boots nothing. NOT_FOUND: this fleet has none of that name. " +
			"Returns state, in the fleet's word: up: running, started; on the way: creating, starting; down: created, stopped, paused; broken: failed, error, unreachable; frozen: see branch-machine. " +
			"network is blocked, open or allow(host,cidr,...), createdAt Unix seconds, pid the process of a local machine on this host; a port's host is the one on 127.0.0.1, null on cloud, where url leads to the first port only, once something listens there, and takes the account's key (Authorization: Bearer). " +
			"stopsAt and deletesAt (RFC 3339) are when the cloud does it by itself. What there is none of is null.",
		hints: hints{readOnly: true, idempotent: true},
	}, func(s set) { s.text("name") }, func(ctx context.Context, c *call, in nameArgs) (*machineResult, error) {
		return c.info(ctx, c.machine(in.Name))
	})
}
