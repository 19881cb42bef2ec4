package mcpserver

import "context"

func stopMachine(*Config) *definition {
	return define(about{
		name: "stop-machine", title: "Stop machine", toolset: "core",
		description: "Shut a machine down. Its disks stay, everything that runs in it dies, jobs included; start-machine or run-command boots it again. " +
			"One that does not run is left as it is. A stopped cloud machine is still billed for its disk: delete-machine ends that. Returns the machine as get-machine does.",
		hints: hints{destructive: true, idempotent: true},
	}, func(s set) { s.text("name") }, func(ctx context.Context, c *call, in nameArgs) (*machineResult, error) {
		m := c.machine(in.Name)
		if err := m.Stop(ctx, nil); err != nil {
			return nil, err
		}
		return c.info(ctx, m)
	})
}
