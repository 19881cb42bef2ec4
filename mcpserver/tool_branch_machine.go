package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

type branchMachineArgs struct {
	Name      string `json:"name" jsonschema:"source"`
	ChildName string `json:"childName"`
	Wait      bool   `json:"wait,omitempty" jsonschema:"until it takes commands; else ready is false"`
}

func branchMachine(cfg *Config) *definition {
	return define(about{
		name: "branch-machine", title: "Branch machine", toolset: "core",
		description: "Make a running copy of a running machine with its disks, memory, size and egress: to try something without touching the original, or several things from one state. " +
			"The source must have been created with branchable: true, else CONFLICT; so is a taken childName. smolvm before 1.17 freezes the source: it takes no commands any more, only branches. " +
			"A copy named " + cfg.MachinePrefix + "... is deleted when this session ends; another stays (see deletesAt), and on cloud is billed. While it exists, stopping or deleting the source may be CONFLICT. " +
			"Returns the copy, its ports on other host ports, and ready: whether it takes commands. NOT_READY: no command in time; the copy is deleted.",
		hints: hints{},
	}, func(s set) { s.text("name", "childName").def("wait", true) }, func(ctx context.Context, c *call, in branchMachineArgs) (*readyResult, error) {
		m, err := c.branch(ctx, in)
		if err != nil {
			return nil, unbranched(ctx, err)
		}
		info, err := c.infoOfNew(ctx, m, in.ChildName)
		if err != nil {
			return nil, err
		}
		return &readyResult{Machine: machineOf(info), Ready: in.Wait}, nil
	})
}

func (c *call) branch(ctx context.Context, in branchMachineArgs) (*smol.Machine, error) {
	k, source := c.server.keeper, c.machine(in.Name)
	claim, err := k.expect(ctx, c.session, c.target, in.ChildName)
	if err != nil {
		return nil, err
	}
	labels, err := k.labels(ctx, c.session, c.target, source, in.ChildName)
	if err != nil {
		claim.withdraw()
		return nil, err
	}
	m, err := source.Branch(ctx, in.ChildName, &smol.BranchOptions{Unready: !in.Wait, Labels: labels})
	claim.settle(m, err)
	return m, err
}

// unbranched gives the error of a branch its code.
func unbranched(ctx context.Context, err error) error {
	e := *toToolError(ctx, err)
	e.Message = strings.Replace(e.Message, ": child ", ": childName ", 1)
	if errors.Is(err, smol.ErrExists) {
		e.Hint = "A machine has the name childName: choose another."
	}
	if e.Code == CodeTimeout {
		e.Code = CodeNotReady
	}
	return &e
}
