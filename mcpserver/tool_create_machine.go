package mcpserver

import (
	"context"
	"errors"

	"github.com/smol-machines/smol-go/smol"
)

type createMachineArgs struct {
	Image string `json:"image" jsonschema:"like python:3.12-alpine"`
	Name  string `json:"name,omitempty" jsonschema:"letters, digits, single -"`
	sizeArgs
	egressArgs
	Ports      []portArg         `json:"ports,omitempty" jsonschema:"TCP, on 0.0.0.0 inside; works with network: blocked"`
	Mounts     []mountArg        `json:"mounts,omitempty" jsonschema:"local only"`
	StorageGB  int               `json:"storageGb,omitempty" jsonschema:"GiB: disk of /workspace; default: local 20, cloud as the image"`
	OverlayGB  int               `json:"overlayGb,omitempty" jsonschema:"GiB, local only: disk of /; default: 10"`
	Cmd        []string          `json:"cmd,omitempty" jsonschema:"argv started at boot; default: only sleeps, the image's own is never run"`
	Env        map[string]string `json:"env,omitempty" jsonschema:"for every command"`
	Start      bool              `json:"start,omitempty" jsonschema:"boot it and wait"`
	Branchable bool              `json:"branchable,omitempty" jsonschema:"for branch-machine; cannot be set later"`
}

type sizeArgs struct {
	CPUs     int `json:"cpus,omitempty"`
	MemoryMB int `json:"memoryMb,omitempty" jsonschema:"MiB"`
}

type portArg struct {
	Guest int `json:"guest"`
	Host  int `json:"host,omitempty" jsonschema:"local only: on 127.0.0.1; default: a free one"`
}

type mountArg struct {
	Source   string `json:"source" jsonschema:"host directory; writes change it"`
	Target   string `json:"target" jsonschema:"path in the machine"`
	Readonly bool   `json:"readonly,omitempty"`
}

type createMachineResult struct {
	Machine   machineResult `json:"machine"`
	Ephemeral bool          `json:"ephemeral"`
	Ready     bool          `json:"ready"`
}

func createMachine(cfg *Config) *definition {
	return define(about{
		name: "create-machine", title: "Create machine", toolset: "core",
		description: "Create a virtual machine from an OCI image, boot it and wait until it takes commands. " +
			"Use it for work of several steps, run-once for a single command. Next: write-file, run-command. " +
			"A machine without a name, or with one that begins with " + cfg.MachinePrefix + ", is ephemeral: deleted when this session ends, and on cloud stopped after " + seconds(cfg.EphemeralAutoStop) + " s without calls or traffic, even if a job runs, and deleted " + seconds(cfg.EphemeralTTL) + " s after creation, in use or not. Any other stays until delete-machine, on cloud billed. " +
			"Locally a pull may need egress. A mount's source must lie below a directory that the server allows. " +
			"Returns the machine as get-machine does, with the chosen host ports, and ready: whether it takes commands. CONFLICT: the name is taken. NOT_FOUND: no such image. NOT_READY: no command within " + seconds(cfg.ReadyTimeout) + " s. A create that fails leaves nothing.",
		hints: hints{openWorld: true},
	}, func(s set) {
		s.text("image", "name").egress(cfg.NetworkDefault).size(cfg).def("start", true)
		s.items("ports").least("guest", 1).most("guest", 65535).least("host", 1).most("host", 65535)
	}, runCreateMachine)
}

// size completes the schema of sizeArgs.
func (s set) size(cfg *Config) set {
	return s.def("cpus", cfg.CPUs).def("memoryMb", cfg.MemoryMiB)
}

func runCreateMachine(ctx context.Context, c *call, in createMachineArgs) (*createMachineResult, error) {
	spec, err := c.specOf(in)
	if err != nil {
		return nil, err
	}
	claim, err := c.server.keeper.expect(ctx, c.session, c.target, spec.Name)
	if err != nil {
		return nil, err
	}
	c.server.keeper.spec(c.session, c.target, spec)
	m, err := c.fleet.Create(ctx, *spec, &smol.CreateOptions{ReadyTimeout: c.config().ReadyTimeout, Stopped: !in.Start})
	claim.settle(m, err)
	if err != nil {
		return nil, c.uncreated(ctx, spec, err)
	}
	info, err := c.infoOfNew(ctx, m, spec.Name)
	if err != nil {
		return nil, err
	}
	return &createMachineResult{Machine: machineOf(info), Ephemeral: c.server.keeper.ephemeral(spec.Name), Ready: in.Start}, nil
}

// infoOfNew asks the fleet about a machine that this call has made, and takes it back if that fails: nobody would be told of it.
func (c *call) infoOfNew(ctx context.Context, m *smol.Machine, name string) (*smol.Info, error) {
	info, err := m.Info(ctx)
	if err == nil {
		return info, nil
	}
	if del := c.discard(ctx, m, name); del != nil {
		return nil, errors.Join(err, del)
	}
	return nil, err
}

// uncreated returns the error of a create that failed. If the machine may have come about after all it stays on record, and the end of the session
// deletes it.
func (c *call) uncreated(ctx context.Context, spec *smol.Spec, err error) error {
	e := egressHint(c.target, spec.Network, len(spec.Ports) > 0, toToolError(ctx, err))
	var state *smol.StateError
	switch {
	case errors.Is(err, smol.ErrExists):
		e.Hint = "A machine has that name: start-machine boots it, or choose another name."
	case errors.As(err, &state), errors.Is(err, context.DeadlineExceeded) && e.Code != CodeCancelled:
		e.Code = CodeNotReady
		var se *smol.Error
		if errors.As(err, &se) && se.Hint != "" { // it may exist
			e.Hint = hintInArguments(se.Hint)
		} else {
			e.Hint = "It is deleted again. To see why: create-machine with start: false, start-machine, machine-logs."
		}
	}
	return e
}
