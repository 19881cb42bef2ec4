package mcpserver

import (
	"errors"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

// egressArgs are the arguments that say what a new machine may reach.
type egressArgs struct {
	Network    string   `json:"network,omitempty"`
	AllowHosts []string `json:"allowHosts,omitempty" jsonschema:"with subdomains; wins over network"`
	AllowCIDRs []string `json:"allowCidrs,omitempty" jsonschema:"wins over network"`
}

// network returns what the library is asked for.
func (e egressArgs) network() smol.Network {
	return smol.Network{Open: e.Network == "open", AllowHosts: e.AllowHosts, AllowCIDRs: e.AllowCIDRs}
}

// egress completes the schema of egressArgs.
func (s set) egress(word string) set {
	return s.def("network", word).enum("network", "blocked", "open")
}

// egressHint adds to an error of a create what a blocked network may have to do with it; the service's own words come first.
func egressHint(t Target, n smol.Network, ports bool, e *ToolError) *ToolError {
	var se *smol.Error
	if !n.Blocked() || e.Code == CodeConflict || e.Code == CodeUnauthorized || !errors.As(e.Err, &se) || se.Status == 0 {
		return e // not the service's words about this create
	}
	var hint string
	switch {
	case strings.Contains(e.Hint, "network: open"):
		return e
	case t == TargetLocal:
		hint = "Egress is blocked: an image from a registry is pulled inside the machine, which network: open, or allowHosts with the registry, permits."
	case ports:
		hint = "Egress is blocked and a port is published: if the service refuses that, network: open or an allow-list is the way out."
	default:
		return e
	}
	out := *e
	if out.Hint != "" {
		hint = out.Hint + " " + hint
	}
	out.Hint = hint
	return &out
}
