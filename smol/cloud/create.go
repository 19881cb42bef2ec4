package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// The size of a machine that asks for none. These are the service's own defaults, sent so that they stay what they are.
	defaultCPUs      = 4
	defaultMemoryMiB = 8192

	maxName       = 63
	maxLabelKey   = 63
	maxLabelValue = 255
)

// sleeper is the workload of a machine that was given none. An image's own command often ends at once (an interpreter that reads the end
// of its input), and the machine would stop with it.
var sleeper = []string{"sh", "-c", "while true; do sleep 3600; done"}

var labelKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9._/-]*[a-z0-9])?$`)

// createRequest translates spec.
func createRequest(spec *smol.Spec) (*cloudwire.CreateMachineRequest, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	for _, check := range []func(*smol.Spec) error{checkAbsent, checkName, checkLabels} {
		if err := check(spec); err != nil {
			return nil, err
		}
	}
	r := &cloudwire.CreateMachineRequest{
		Source: sourceOf(spec.Image), Name: spec.Name, Network: wireNetwork(&spec.Network), Env: spec.Env, Workdir: spec.Dir,
		Resources: &cloudwire.MachineResources{
			CPUs: orDefault(spec.Resources.CPUs, defaultCPUs), MemoryMb: int64(orDefault(spec.Resources.MemoryMiB, defaultMemoryMiB)),
			DiskGb: int64(spec.Resources.DiskGiB),
		},
		Command: spec.Command, Ports: wirePorts(spec.Ports), Labels: spec.Labels, Branchable: spec.Branchable, Ephemeral: spec.Ephemeral,
	}
	if len(spec.Command) == 0 {
		r.Command = sleeper
	}
	if spec.AutoStop > 0 {
		r.AutoStopSeconds = new(rest.Seconds(spec.AutoStop))
	}
	if spec.TTL > 0 {
		r.TTLSeconds = new(rest.Seconds(spec.TTL))
	}
	return r, nil
}

func orDefault(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

func unsupported(field, what, hint string) error { return rest.Unsupported("cloud", field, what, hint) }

// checkAbsent refuses, by name, what this fleet does not have.
func checkAbsent(spec *smol.Spec) error {
	switch {
	case spec.Image == "":
		return rest.Invalid("Spec.Image", "is empty, and the cloud fleet has no bare system; name an image, such as \"alpine:3.20\"")
	case len(spec.Mounts) > 0:
		return unsupported("Spec.Mounts", "directories of this host", "copy the files into the machine with Machine.CopyFS")
	case spec.Resources.OverlayGiB != 0:
		return unsupported("Spec.Resources.OverlayGiB", "second disk", "set DiskGiB, which is all of the machine's disk")
	}
	return checkPorts("Spec.Ports", spec.Ports)
}

// checkPorts refuses ports of this host: the service chooses its own.
func checkPorts(field string, ports []smol.Port) error {
	for i, p := range ports {
		if p.Host != 0 {
			return unsupported(fmt.Sprintf("%s[%d].Host", field, i), "ports on this host", "leave it out; Info.URL tells the address of the first port")
		}
	}
	return nil
}

// checkName holds the service's limit. A name that is no DNS label is allowed, and its machine has no URL.
func checkName(spec *smol.Spec) error {
	if spec.Name == "" {
		return rest.Invalid("Spec.Name", "is empty: without one a machine whose creation was not answered could not be found again")
	}
	if len(spec.Name) > maxName {
		return rest.Invalid("Spec.Name", "has %d bytes; the cloud fleet allows %d", len(spec.Name), maxName)
	}
	return nil
}

func checkLabels(spec *smol.Spec) error { return checkLabelMap("Spec.Labels", spec.Labels) }

// checkLabelMap holds the service's rules for labels.
func checkLabelMap(field string, labels map[string]string) error {
	if len(labels) > maxLabels {
		return rest.Invalid(field, "has %d labels; at most %d are allowed", len(labels), maxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := fmt.Sprintf("%s[%.80q]", field, key)
		switch {
		case key == originLabel:
			return rest.Invalid(at, "is a label that the library keeps for itself")
		case len(key) > maxLabelKey || !labelKey.MatchString(key):
			return rest.Invalid(at, "has a bad name: allowed are up to %d of a-z, 0-9 and, not at its ends, '.', '_', '/' and '-'", maxLabelKey)
		case len(labels[key]) > maxLabelValue:
			return rest.Invalid(at, "has %d bytes; at most %d are allowed", len(labels[key]), maxLabelValue)
		}
	}
	return nil
}

// sourceOf tells packed machines, which lie in the service's own registry, from images.
func sourceOf(image string) cloudwire.MachineSource {
	packed := strings.HasPrefix(image, "registry.smolmachines.com/") || strings.HasPrefix(image, "tenants/") && strings.Count(image, "/") >= 2
	if packed {
		return cloudwire.MachineSource{Smolmachine: &cloudwire.SmolmachineSource{Reference: image}}
	}
	return cloudwire.MachineSource{Image: &cloudwire.ImageSource{Reference: image}}
}

// wireNetwork states the policy in full, because the service's own default is open. Blocked is a word that old and new services know; a list
// always goes with both of its fields, of which the older ones require the one and ignore the other.
func wireNetwork(n *smol.Network) cloudwire.Network {
	switch {
	case n.Blocked():
		return cloudwire.Network{Blocked: &cloudwire.BlockedNetwork{}}
	case len(n.AllowHosts) == 0 && len(n.AllowCIDRs) == 0:
		return cloudwire.Network{Open: &cloudwire.OpenNetwork{}}
	}
	allow := &cloudwire.AllowNetwork{}
	for _, host := range n.AllowHosts {
		allow.Hosts = append(allow.Hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
	}
	for _, cidr := range n.AllowCIDRs {
		allow.CIDRs = append(allow.CIDRs, wireCIDR(cidr))
	}
	return cloudwire.Network{Allow: allow}
}

// wireCIDR writes a range or a single address as a range. It has been validated.
func wireCIDR(s string) string {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()).String()
	}
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix.Masked().String()
	}
	return s
}

func wirePorts(ports []smol.Port) []cloudwire.MachinePort {
	var out []cloudwire.MachinePort
	for _, p := range ports {
		out = append(out, cloudwire.MachinePort{Port: p.Guest})
	}
	return out
}

// ephemeralTries is how often an ephemeral machine that is deleted before it could be started is made anew.
const ephemeralTries = 3

// Create implements [smol.Backend]. Zero fields of Spec.Resources are 4 processors and 8192 MiB, and the image's own disk. Spec.Env is told to
// everybody who may look at the machine, so it is no place for secrets. An image in registry.smolmachines.com, or in tenants/..., is a packed machine.
//
// An ephemeral machine is booted too: the service deletes such a machine once it finds it stopped, and would not ask whether it has ever run. If it
// was faster, another one is made.
func (b *Backend) Create(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
	body, err := createRequest(spec)
	if err != nil {
		return nil, rest.Describe(err, "create", spec.Name)
	}
	for range ephemeralTries {
		info, err := b.create(ctx, spec, body)
		if err != nil {
			return nil, err
		}
		if !spec.Ephemeral || info.State == smol.StateRunning {
			return info, nil
		}
		started, err := b.Start(ctx, info.ID, &smol.StartOptions{Branchable: spec.Branchable})
		switch {
		case err == nil:
			return started, nil
		case !errors.Is(err, errNeverStarted):
			// The machine exists. Who asked for it starts it again, is told why that fails, and deletes it.
			return info, nil
		}
	}
	return nil, &smol.Error{
		Op: "create", Machine: spec.Name, Code: smol.CodeConflict,
		Message: fmt.Sprintf("the service has deleted %d ephemeral machines before they could be started", ephemeralTries),
		Hint:    "leave Spec.Ephemeral out, set Spec.TTL, and delete the machine with Machine.Discard",
	}
}

// create makes the record of a machine.
func (b *Backend) create(ctx context.Context, spec *smol.Spec, body *cloudwire.CreateMachineRequest) (*smol.Info, error) {
	c, err := newCall(opCreate, "")
	if err != nil {
		return nil, err
	}
	c.Machine = spec.Name
	marked := *body
	marked.Labels = b.origin.mark(body.Labels)
	m, err := b.record(ctx, c, &marked)
	if err != nil {
		return nil, createRefusal(err, spec)
	}
	if m.ID == "" {
		return nil, c.fail(smol.CodeUnknown, "the reply describes no machine")
	}
	if m.Network.Open != nil && body.Network.Open == nil {
		return nil, b.undo(ctx, c, m.ID, &smol.Error{
			Op: c.Op, Machine: spec.Name, Code: smol.CodeUnsupported, Err: errors.ErrUnsupported,
			Message: "the service does not restrict what the machine may reach, as was asked for",
		})
	}
	return infoOf(m), nil
}

// undo deletes a machine that is not what was asked for, and returns why.
func (b *Backend) undo(ctx context.Context, c *call, id string, why *smol.Error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if err := b.Delete(ctx, id, nil); err != nil && !errors.Is(err, smol.ErrNotFound) {
		why.Message += fmt.Sprintf("; and %s could not be deleted: %v", id, err)
		why.Hint = "delete the machine yourself; it still exists"
		why.Err = errors.Join(why.Err, err)
	}
	return why
}

// createRefusal gives the refusal of a pair that some services do not take its remedy.
func createRefusal(err error, spec *smol.Spec) error {
	var e *smol.Error
	if errors.As(err, &e) && e.Code == smol.CodeInvalid && e.Status != 0 && e.Hint == "" && spec.Network.Blocked() && len(spec.Ports) > 0 {
		e.Hint = "if it is the published port of a machine without egress that is refused: leave the port out, or lift the block with Spec.Network"
	}
	return err
}
