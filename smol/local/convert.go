package local

import (
	"slices"
	"time"

	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// infoOf translates what the service says about a machine.
func infoOf(m *localwire.MachineInfo) *smol.Info {
	info := &smol.Info{
		Name: m.Name, ID: m.Name, State: stateOf(m.State), RawState: string(m.State), Image: m.Image,
		Resources: smol.Resources{
			CPUs: m.CPUs, MemoryMiB: int(m.MemoryMb), DiskGiB: int(m.StorageGb), OverlayGiB: int(m.OverlayGb),
		},
		Network: networkOf(m), Branchable: m.CanBranch(), PID: m.PID,
	}
	for _, p := range m.Ports {
		info.Ports = append(info.Ports, smol.Port{Guest: int(p.Guest), Host: int(p.Host)})
	}
	for _, mount := range m.Mounts {
		info.Mounts = append(info.Mounts, smol.Mount{Source: mount.Source, Target: mount.Target, ReadOnly: mount.ReadOnly})
	}
	if m.CreatedAt != 0 {
		info.CreatedAt = time.Unix(m.CreatedAt, 0)
	}
	return info
}

// stateOf translates the service's word. "created" lasts a few seconds only, until a supervisor calls it "stopped". A word that is not
// known passes.
func stateOf(s localwire.State) smol.State {
	if s == localwire.StateCreated {
		return smol.StateStopped
	}
	return smol.State(s) // the others are spelt alike
}

// networkOf returns the egress policy in force. The flag stays false where ports or lists brought the network, and a missing list of
// addresses then means that all of them can be reached.
func networkOf(m *localwire.MachineInfo) smol.Network {
	n := smol.Network{AllowCIDRs: slices.Clone(m.AllowedCIDRs), AllowHosts: slices.Clone(m.AllowedHosts)}
	on := m.Network || len(m.Ports) > 0 || len(m.AllowedCIDRs) > 0 || len(m.AllowedHosts) > 0
	n.Open = on && m.AllowedCIDRs == nil && len(m.AllowedHosts) == 0
	return n
}
