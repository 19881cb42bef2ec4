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
		{Target: TargetLocal, Summary: "virtual machines on this host, free, served by smolvm", Cannot: []string{"labels (list-machines)", "stop or delete a machine after a time"}},
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
	fmt.Fprintf(&b, "Egress is %s in a new machine", s.config.NetworkDefault)
	if s.config.RunOnceNetwork == s.config.NetworkDefault {
		b.WriteString(" and in run-once")
	} else {
		fmt.Fprintf(&b, " and %s in run-once", s.config.RunOnceNetwork)
	}
	b.WriteString(" unless the call says network: open, or allowHosts or allowCidrs, which win over it. Locally an image from a registry may need network: open, or allowHosts with the registry's hosts, to be pulled; the error names them.\n")
	fmt.Fprintf(&b, "A machine whose name begins with %s, as those without a name get, is deleted when this session ends, that is when you disconnect; one with another name stays until delete-machine.\n", s.config.MachinePrefix)
	fmt.Fprintf(&b, "run-command comes back after waitSecs (default %d) at the latest; what still runs has running: true and a job, and poll-command gets the rest.\n", int(s.config.Wait.Seconds()))
	b.WriteString("A call that fails is an error of the form CODE: what is wrong, mostly with a second line that says what to do. " +
		"INVALID: an argument. CONFLICT: a name that is taken, or a machine in another state. FORBIDDEN, UNAUTHORIZED, UNSUPPORTED: another try will not help. " +
		"RATE_LIMITED, UNAVAILABLE, TIMEOUT: one later may.")
	return clip(b.String(), maxText-3)
}
