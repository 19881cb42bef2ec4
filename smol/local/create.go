package local

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// sleeper is the workload of a machine that was given none. An image's own command often ends at once (an interpreter that reads the end
// of its input), and the first command would then meet a container that is going away.
var sleeper = []string{"sh", "-c", "while true; do sleep 3600; done"}

// Create implements [smol.Backend]. It checks all that can be checked here, since services before 1.22.2 ignore what they do not know.
// The spec needs a name: without one a machine whose creation was not answered could not be found again.
func (b *Backend) Create(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
	const op = "create"
	body, err := createRequest(spec)
	if err != nil {
		return nil, rest.Describe(err, op, spec.Name)
	}
	if body.Ports, err = wirePorts(ctx, "Spec.Ports", spec.Ports); err != nil {
		return nil, rest.Describe(err, op, spec.Name)
	}
	r := &rest.Request{Op: op, Machine: spec.Name, Method: http.MethodPost, Path: machinesRoute}
	return b.machine(ctx, r, body)
}

// machine sends in, unless it is nil, and returns the machine that the answer describes.
func (b *Backend) machine(ctx context.Context, r *rest.Request, in any) (*smol.Info, error) {
	var m localwire.MachineInfo
	if err := b.send(ctx, r, in, &m); err != nil {
		return nil, err
	}
	if m.Name == "" {
		return nil, &smol.Error{Op: r.Op, Machine: r.Machine, Code: smol.CodeUnknown, Message: "the reply describes no machine"}
	}
	return infoOf(&m), nil
}

// createRequest translates spec, but for its ports.
func createRequest(spec *smol.Spec) (*localwire.CreateMachineRequest, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if err := checkName("Spec.Name", spec.Name); err != nil {
		return nil, err
	}
	if err := checkAbsent(spec); err != nil {
		return nil, err
	}
	if err := checkImage(spec); err != nil {
		return nil, err
	}
	mounts, err := wireMounts(spec.Mounts)
	if err != nil {
		return nil, err
	}
	r := &localwire.CreateMachineRequest{
		Name: &spec.Name, Image: spec.Image, Workdir: spec.Dir, Mounts: mounts, Cmd: slices.Clone(spec.Command),
	}
	if spec.Image != "" && len(spec.Command) == 0 {
		r.Cmd = sleeper
	}
	if spec.Image == "" {
		r.Workdir = "" // there is no workload that it could be for
	} else {
		for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
			r.Env = append(r.Env, localwire.EnvVar{Name: name, Value: spec.Env[name]})
		}
	}
	setResources(r, &spec.Resources)
	setEgress(r, &spec.Network)
	return r, nil
}

// checkAbsent refuses, by name, what this fleet does not have.
func checkAbsent(spec *smol.Spec) error {
	const delete = "delete it with Machine.Discard, or use Fleet.RunOnce"
	switch {
	case len(spec.Labels) > 0:
		return unsupported("Spec.Labels", "labels", "put what tells machines apart into their names")
	case spec.Ephemeral:
		return unsupported("Spec.Ephemeral", "machines that delete themselves", delete)
	case spec.AutoStop != 0:
		return unsupported("Spec.AutoStop", "machines that stop themselves", "stop it with Machine.Stop; a machine that idles costs nothing")
	case spec.TTL != 0:
		return unsupported("Spec.TTL", "machines that end by themselves", delete)
	}
	return nil
}

// checkImage refuses what the service would store and then fail on at the start.
func checkImage(spec *smol.Spec) error {
	if spec.Image == "" {
		if len(spec.Command) > 0 {
			return rest.Invalid("Spec.Command", "needs Spec.Image: a bare machine has no workload; run it with Machine.Command")
		}
		return nil
	}
	lower := strings.ToLower(spec.Image)
	archive := strings.HasSuffix(lower, ".tar") || strings.HasSuffix(lower, ".tar.gz") || strings.HasSuffix(lower, ".tgz")
	if archive || strings.HasPrefix(lower, "local:") || strings.HasPrefix(lower, "local-dir:") {
		return rest.Invalid("Spec.Image", "%q is an archive or a directory, which only the smolvm command takes: docker save X | smolvm machine create --image -", spec.Image)
	}
	return nil
}

func setResources(r *localwire.CreateMachineRequest, res *smol.Resources) {
	// Spec.Validate has seen that the values fit. Zero is the service's default, which it takes only if the field is absent.
	if res.CPUs > 0 {
		r.CPUs = new(uint8(res.CPUs))
	}
	if res.MemoryMiB > 0 {
		r.MemoryMb = new(uint32(res.MemoryMiB))
	}
	if res.DiskGiB > 0 {
		r.StorageGb = new(uint64(res.DiskGiB))
	}
	if res.OverlayGiB > 0 {
		r.OverlayGb = new(uint64(res.OverlayGiB))
	}
}

// setEgress states the egress policy in full. Three things make the service's own defaults dangerous: an absent allowedCidrs means that
// every address may be reached, an empty one that none may; a published port or a list of hosts switches networking on whatever
// network says; and an absent list of hosts is no restriction but the lack of an addition. So:
//
//   - blocked: no network and no address, which also holds when a port switches the network on;
//   - open: the network, and both lists absent;
//   - addresses: just them. Hosts would only add to them, so their list stays absent;
//   - hosts, with or without addresses: the addresses are always sent, empty if need be, because without that list the hosts would be
//     an addition to everything.
//
// The service keeps private and loopback destinations out in any case.
func setEgress(r *localwire.CreateMachineRequest, n *smol.Network) {
	r.AllowedCIDRs = append([]string{}, n.AllowCIDRs...)
	if len(n.AllowHosts) > 0 {
		r.AllowedHosts = slices.Clone(n.AllowHosts)
	}
	r.Network = !n.Blocked()
	if n.Open && len(n.AllowCIDRs) == 0 && len(n.AllowHosts) == 0 {
		r.AllowedCIDRs = nil
	}
}

// wireMounts checks the mounts on this host, which is the service's host too, and resolves links: with a link in its source the first
// command would find other mounts than the machine was started with, and restart it.
func wireMounts(mounts []smol.Mount) ([]localwire.MountSpec, error) {
	var out []localwire.MountSpec
	for i, m := range mounts {
		source, err := resolveDir(fmt.Sprintf("Spec.Mounts[%d].Source", i), m.Source)
		if err != nil {
			return nil, err
		}
		out = append(out, localwire.MountSpec{Source: source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return out, nil
}
