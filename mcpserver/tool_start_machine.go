package mcpserver

import (
	"context"

	"github.com/smol-machines/smol-go/smol"
)

type startMachineArgs struct {
	nameArgs
	Wait bool `json:"wait,omitempty" jsonschema:"until it takes commands; else ready is false"`
}

type readyResult struct {
	Machine machineResult `json:"machine"`
	Ready   bool          `json:"ready"`
}

func startMachine(cfg *Config) *definition {
	return define(about{
		name: "start-machine", title: "Start machine", toolset: "core",
		description: "Boot a stopped machine and wait until it takes commands. One that runs is left as it is. " +
			"run-command, read-file and write-file boot a stopped machine by themselves; use this to boot one ahead. On cloud it is then billed as running. " +
			"Its disks are as they were; its cmd starts again, other processes do not. Returns the machine as get-machine does, and ready: whether it takes commands. NOT_READY: no command within " + seconds(cfg.ReadyTimeout) + " s; it stays, see machine-logs.",
		hints: hints{idempotent: true},
	}, func(s set) { s.text("name").def("wait", true) }, func(ctx context.Context, c *call, in startMachineArgs) (*readyResult, error) {
		m := c.machine(in.Name)
		if err := m.Start(ctx, nil); err != nil {
			return nil, err
		}
		return c.ready(ctx, m, in.Wait)
	})
}

// ready waits for a command in m, if it is to, and returns what is told then.
func (c *call) ready(ctx context.Context, m *smol.Machine, wait bool) (*readyResult, error) {
	if wait {
		if err := m.WaitReady(ctx, &smol.WaitOptions{Timeout: c.config().ReadyTimeout}); err != nil {
			return nil, notReady(ctx, err)
		}
	}
	info, err := m.Info(ctx)
	if err != nil {
		return nil, err
	}
	return &readyResult{Machine: machineOf(info), Ready: wait}, nil
}

// notReady gives the error of a wait its code.
func notReady(ctx context.Context, err error) error {
	e := *toToolError(ctx, err)
	if e.Code == CodeTimeout || e.Code == CodeConflict {
		e.Code = CodeNotReady
	}
	if e.Code == CodeNotReady && e.Hint == "" {
		e.Hint = "machine-logs may say why."
	}
	return &e
}
