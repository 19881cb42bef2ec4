package mcpserver

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
)

func stopMachine(cfg *Config) *definition {
	d := define(about{
		name: "stop-machine", title: "Stop machine", toolset: "core",
		description: "Shut a machine down, by force if it does not obey. Its disks stay, everything that runs in it dies, jobs included; start-machine or run-command boots it again. " +
			"One that does not run is left as it is; one named " + cfg.MachinePrefix + "... is still deleted with its session. " +
			"A stopped cloud machine is still billed for its disk: delete-machine ends that. CONFLICT: branches need it running. Returns the machine as get-machine does.",
		hints: hints{destructive: true, idempotent: true},
	}, func(s set) { s.text("name") }, func(ctx context.Context, c *call, in nameArgs) (*machineResult, error) {
		m := c.machine(in.Name)
		if err := m.Stop(ctx, nil); err != nil {
			return nil, err
		}
		return c.info(ctx, m)
	})
	d.out = machineSchema()
	d.out.Properties = map[string]*jsonschema.Schema{"name": {Type: "string"}, "state": {Type: "string"}}
	d.out.Required = []string{"name", "state"}
	return d
}
