package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

type listMachinesArgs struct {
	Labels map[string]string `json:"labels,omitempty" jsonschema:"cloud only: having all of these; no tool here sets any"`
}

type listMachinesResult struct {
	Machines []machineResult `json:"machines"`
}

func listMachines(*Config) *definition {
	return define(about{
		name: "list-machines", title: "List machines", toolset: "core",
		description: "List all machines of the fleet, stopped ones and those of other sessions and people too, each as get-machine returns it. " +
			"Use it to find a name; get-machine is cheaper for a known one. Changes and boots nothing.",
		hints: hints{readOnly: true, idempotent: true},
	}, nil, func(ctx context.Context, c *call, in listMachinesArgs) (*listMachinesResult, error) {
		res := &listMachinesResult{Machines: []machineResult{}}
		for info, err := range c.fleet.List(ctx, &smol.ListOptions{Labels: in.Labels}) {
			if err != nil {
				return nil, err
			}
			res.Machines = append(res.Machines, machineOf(info))
		}
		slices.SortFunc(res.Machines, func(a, b machineResult) int { return strings.Compare(a.Name, b.Name) })
		return res, nil
	})
}
