package mcpserver

import (
	"context"

	"github.com/smol-machines/smol-go/smol/cloud"
)

type deleteMachineResult struct {
	Deleted string       `json:"deleted"`
	Usage   *usageResult `json:"usage"`
	Cost    *costResult  `json:"cost" jsonschema:"cloud: settled bill, millionths of a US dollar"`
}

type usageResult struct {
	UptimeSecs    int64   `json:"uptimeSecs"`
	CPUHours      float64 `json:"cpuHours"`
	MemoryGBHours float64 `json:"memoryGbHours"`
	DiskGBHours   float64 `json:"diskGbHours"`
	EgressGB      float64 `json:"egressGb"`
}

type costResult struct {
	DueMicros   int64 `json:"dueMicros"`
	TotalMicros int64 `json:"totalMicros" jsonschema:"before credit"`
}

func deleteMachine(cfg *Config) *definition {
	return define(about{
		name: "delete-machine", title: "Delete machine", toolset: "core",
		description: "Delete a machine with its disks, running or not. No way back: read-file what is still needed first, or stop-machine to keep its disks (those of " + cfg.MachinePrefix + "... go with the session). " +
			"Other people's machines go too: delete only what you made or were asked to. " +
			"Returns its name; on cloud this ends the bill, told as usage and cost, else null. CONFLICT: branches need its disks; first delete those the error names. NOT_FOUND: it is gone already.",
		hints: hints{destructive: true, idempotent: true},
	}, func(s set) { s.text("name") }, runDeleteMachine)
}

func runDeleteMachine(ctx context.Context, c *call, in nameArgs) (*deleteMachineResult, error) {
	m := c.machine(in.Name)
	info, err := m.Info(ctx)
	if err != nil {
		return nil, err
	}
	res := &deleteMachineResult{Deleted: machineOf(info).Name}
	cm, ok := cloud.Extend(m)
	if !ok {
		if err := m.Delete(ctx, nil); err != nil {
			return nil, err
		}
		c.server.keeper.forget(c.target, res.Deleted)
		return res, nil
	}
	bill, err := cm.DeleteWithUsage(ctx, nil)
	if err != nil {
		// The machine can be gone and only its bill unknown.
		if _, look := m.Info(ctx); !isNotFound(look) {
			return nil, err
		}
	}
	if bill != nil {
		res.Usage = &usageResult{
			UptimeSecs: int64(bill.Uptime.Seconds()), CPUHours: bill.CPUHours, MemoryGBHours: bill.MemoryGBHours,
			DiskGBHours: bill.DiskGBHours, EgressGB: bill.EgressGB,
		}
		res.Cost = &costResult{DueMicros: int64(bill.Cost.Due), TotalMicros: int64(bill.Cost.Total)}
	}
	c.server.keeper.forget(c.target, res.Deleted)
	return res, nil
}
