package mcpserver

import (
	"context"
	"fmt"
	"strings"
)

// maxText is the most bytes that instructions and descriptions have: some clients cut what is longer.
const maxText = 2048

// targetFacts is what is told of a fleet, in instructions and as a resource.
type targetFacts struct {
	Target      Target   `json:"target"`
	Served      bool     `json:"served"`
	Unavailable *string  `json:"unavailable"`
	Summary     string   `json:"summary"`
	Cannot      []string `json:"cannot"`
}

// facts returns what there is to know of both fleets now.
func (s *Server) facts(ctx context.Context) []targetFacts {
	all := []targetFacts{
		{Target: TargetLocal, Summary: "virtual machines on this host, free, served by smolvm", Cannot: []string{"labels", "a time at which a machine stops or is deleted by itself"}},
		{Target: TargetCloud, Summary: "virtual machines in the smol cloud, billed while they exist, stopped ones for their disk", Cannot: []string{"mounts", "overlayGb", "ports[].host", "pull-image"}},
	}
	for i := range all {
		src := s.sources[all[i].Target]
		if all[i].Served = src != nil; src != nil {
			all[i].Unavailable = optional(src.Unavailable(ctx))
		}
	}
	return all
}

// instructions tells a client what it can reach and what holds for all tools.
func (s *Server) instructions(ctx context.Context) string {
	var b strings.Builder
	b.WriteString("Virtual machines to run commands in, away from the computer you run on. create-machine or run-once makes one from an OCI image; run-command, read-file and write-file work in it.\n")
	for _, f := range s.facts(ctx) {
		if !f.Served {
			continue
		}
		fmt.Fprintf(&b, "Fleet %s: %s. It cannot do: %s.", f.Target, f.Summary, strings.Join(f.Cannot, ", "))
		if f.Unavailable != nil {
			fmt.Fprintf(&b, " Not usable now: %s.", strings.TrimSuffix(clip(*f.Unavailable, 300), "."))
		}
		b.WriteByte('\n')
	}
	if s.both() {
		b.WriteString("Every tool takes target, local or cloud; a machine of one fleet is not seen on the other.\n")
	}
	fmt.Fprintf(&b, "Egress is %s in a new machine and %s in run-once unless the call says network: open, or allowHosts or allowCidrs, which win over it. ",
		s.config.NetworkDefault, s.config.RunOnceNetwork)
	b.WriteString("Locally an image from a registry may need network: open to be pulled.\n")
	fmt.Fprintf(&b, "Machines without a name are called %s... and are deleted when this session ends; one that you name stays until delete-machine.\n", s.config.MachinePrefix)
	fmt.Fprintf(&b, "A command that runs longer than %d s comes back with running: true and a job; poll-command gets the rest.", int(s.config.Wait.Seconds()))
	return clip(b.String(), maxText-3)
}
