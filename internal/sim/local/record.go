package local

import "github.com/smol-machines/smol-go/internal/sim"

// The states of a machine.
const (
	stateCreated     = "created"
	stateRunning     = "running"
	stateStopped     = "stopped"
	stateFailed      = "failed"
	stateUnreachable = "unreachable"
	stateFrozen      = "frozen"
	statePaused      = "paused"
)

// record is what the service's database keeps of a machine.
type record struct {
	Name      string `json:"name"`
	CreatedAt int64  `json:"createdAt"` // seconds since 1970
	// State is created, running, stopped, failed or paused. Running stands for a stored process id.
	State string `json:"state"`
	PID   int    `json:"pid,omitempty"`

	CPUs      uint8   `json:"cpus"`
	MemoryMB  uint32  `json:"memoryMb"`
	StorageGB uint64  `json:"storageGb"`
	OverlayGB uint64  `json:"overlayGb"`
	Mounts    []mount `json:"mounts"`
	Ports     []port  `json:"ports"`

	Network      bool      `json:"network"`
	Backend      *string   `json:"networkBackend,omitempty"`
	AllowedCIDRs *[]string `json:"allowedCidrs,omitempty"`
	AllowedHosts *[]string `json:"allowedHosts,omitempty"`
	GPU          bool      `json:"gpu,omitempty"`
	CUDA         bool      `json:"cuda,omitempty"`

	Image   string   `json:"image,omitempty"`
	Argv    []string `json:"argv,omitempty"` // of the workload
	Env     []string `json:"env,omitempty"`
	Workdir string   `json:"workdir,omitempty"`
	// Images are the references pulled, normalised.
	Images []string `json:"images,omitempty"`

	Restart     string `json:"restart,omitempty"`
	MaxRetries  uint32 `json:"maxRetries,omitempty"`
	UserStopped bool   `json:"userStopped,omitempty"`

	Forkable bool `json:"forkable,omitempty"`
	// Frozen: the machine runs, but halted, as the base of branches.
	Frozen bool `json:"frozen,omitempty"`
	// Parent is the machine that this one was branched from.
	Parent string `json:"parent,omitempty"`
	// Held: the clone is parked until it is released. Claimed: it was.
	Held    bool `json:"held,omitempty"`
	Claimed bool `json:"claimed,omitempty"`
}

type mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readonly"`
}

type port struct {
	Host  uint16 `json:"host" serde:"host"`
	Guest uint16 `json:"guest" serde:"guest"`
}

func (r *record) networked() bool {
	cidrs := r.AllowedCIDRs != nil && len(*r.AllowedCIDRs) > 0
	hosts := r.AllowedHosts != nil && len(*r.AllowedHosts) > 0
	return r.Network || len(r.Ports) > 0 || cidrs || hosts
}

func (r *record) simMounts() []sim.Mount {
	var out []sim.Mount
	for _, m := range r.Mounts {
		if !remote(m.Source) {
			out = append(out, sim.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
		}
	}
	return out
}

// machineInfo is the answer about a machine.
type machineInfo struct {
	Name         string      `json:"name"`
	State        string      `json:"state"`
	CPUs         uint8       `json:"cpus"`
	MemoryMB     uint32      `json:"memoryMb"`
	PID          int         `json:"pid,omitempty"`
	Mounts       []mountInfo `json:"mounts"`
	Ports        []port      `json:"ports"`
	Network      bool        `json:"network"`
	GPU          bool        `json:"gpu"`
	CUDA         bool        `json:"cuda"`
	Backend      *string     `json:"networkBackend,omitempty"`
	AllowedCIDRs *[]string   `json:"allowedCidrs,omitempty"`
	AllowedHosts *[]string   `json:"allowedHosts,omitempty"`
	StorageGB    uint64      `json:"storageGb"`
	OverlayGB    uint64      `json:"overlayGb"`
	Forkable     bool        `json:"forkable"`
	ForkHeld     bool        `json:"forkpointHeld"`
	CreatedAt    int64       `json:"createdAt"`
	Image        string      `json:"image,omitempty"`
}

type mountInfo struct {
	Tag string `json:"tag"`
	mount
}
