package cloud

import (
	"slices"
	"time"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// infoOf translates what the service says about a machine.
func infoOf(m *cloudwire.MachineInfo) *smol.Info {
	info := &smol.Info{
		Name: m.Name, ID: m.ID, State: stateOf(m), RawState: string(m.State), Reason: m.Error, Image: m.Source.Reference(),
		Resources: smol.Resources{CPUs: m.Resources.CPUs, MemoryMiB: int(m.Resources.MemoryMb), DiskGiB: int(m.Resources.DiskGb)},
		Network:   networkOf(&m.Network), Branchable: m.CanBranch(), URL: m.URL, CreatedAt: m.CreatedAt.Time,
	}
	info.Ready = m.Ready != nil && *m.Ready && info.State == smol.StateRunning
	if labels := withoutOrigin(m.Labels); len(labels) > 0 {
		info.Labels = labels
	}
	for _, p := range m.Ports {
		info.Ports = append(info.Ports, smol.Port{Guest: p.Port}) // the host port is that of a host which nobody reaches
	}
	info.StopsAt, info.DeletesAt = endsOf(m, info.State)
	return info
}

// states are the service's words that are not the library's.
var states = map[cloudwire.State]smol.State{
	cloudwire.StateCreated: smol.StateCreating,
	cloudwire.StateStarted: smol.StateRunning,
	cloudwire.StateError:   smol.StateFailed,
}

// stateOf translates the service's word. One that is not known passes. A machine that is frozen mostly says so beside its state.
func stateOf(m *cloudwire.MachineInfo) smol.State {
	if m.Frozen() && (m.State.IsStarted() || m.State == cloudwire.StatePaused || m.State == cloudwire.StateFrozen) {
		return smol.StateFrozen
	}
	if s, ok := states[m.State]; ok {
		return s
	}
	return smol.State(m.State) // the others are spelt alike
}

// networkOf returns the egress policy in force. One that is not known is told as open: taking it for blocked would be worse.
func networkOf(n *cloudwire.Network) smol.Network {
	switch {
	case n.Allow != nil && reachNothing(n.Allow):
		return smol.Network{}
	case n.Allow != nil:
		return smol.Network{AllowHosts: slices.Clone(n.Allow.Hosts), AllowCIDRs: slices.Clone(n.Allow.CIDRs)}
	}
	return smol.Network{Open: n.Open != nil || n.Unknown != nil}
}

// reachNothing recognises the lists by which older clients spell "blocked": of addresses that are nowhere.
func reachNothing(a *cloudwire.AllowNetwork) bool {
	for _, cidr := range a.CIDRs {
		if !slices.Contains([]string{"192.0.2.0/24", "127.0.0.0/8", "::1/128"}, cidr) {
			return false
		}
	}
	return len(a.Hosts) == 0
}

// endsOf computes when the service will stop and delete the machine. It looks every 15 seconds, so both come up to so much later. A command
// that runs, or any other use, moves the first.
func endsOf(m *cloudwire.MachineInfo, state smol.State) (stops, deletes time.Time) {
	if m.TTLSeconds != nil && *m.TTLSeconds > 0 && !m.CreatedAt.IsZero() {
		deletes = m.CreatedAt.Add(seconds(*m.TTLSeconds))
	}
	if m.AutoStopSeconds == nil || *m.AutoStopSeconds <= 0 || state != smol.StateRunning {
		return time.Time{}, deletes
	}
	used := m.LastActivityAt.Time
	if used.IsZero() {
		used = m.ReadyAt.Time
	}
	if used.IsZero() {
		return time.Time{}, deletes
	}
	stops = used.Add(seconds(*m.AutoStopSeconds))
	if m.Ephemeral && (deletes.IsZero() || stops.Before(deletes)) {
		deletes = stops
	}
	return stops, deletes
}

// seconds is a duration that does not overflow.
func seconds(n int64) time.Duration { return time.Duration(min(n, 1<<32)) * time.Second }
