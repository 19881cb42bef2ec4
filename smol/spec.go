package smol

import "time"

// Spec says what machine is wanted. The zero value is a bare machine with a generated name, the fleet's default
// resources and no way out to the network. A Spec is copied when it is used and never written.
type Spec struct {
	// Name identifies the machine in its fleet: 1 to 128 ASCII letters, digits, '_' and single '-', starting with a
	// letter or digit, not ending in '-'. Empty: the library generates "smol-" and 12 hexadecimal digits.
	Name string
	// Image is an OCI image reference, such as "alpine:3.20". Empty: the fleet's bare system, where it has one.
	Image string
	// Command is the machine's own workload, as argv. Empty: a process that sleeps for ever, so that an image whose
	// own command ends (an interpreter reading end of file) does not take the machine down.
	Command []string
	// Env is set for every command run in the machine, and for its workload. Names are [A-Za-z_][A-Za-z0-9_]*, at most
	// 256 bytes and not "SMOL_JOB". On a fleet that does not keep it itself, an entry has at most 128 KiB and all together at
	// most 512 KiB.
	Env map[string]string
	// Dir is the absolute directory in which commands run when they name none. Empty: the image's own.
	Dir string
	// Resources sizes the machine; zero fields take the fleet's defaults.
	Resources Resources
	// Network is what the machine may reach. The zero value blocks everything but loopback.
	Network Network
	// Ports publishes guest ports; see [Port].
	Ports []Port
	// Mounts shows directories of the host in the machine (local fleet only).
	Mounts []Mount
	// Labels are kept with the machine by a fleet that has labels (cloud). Others refuse a non-empty map.
	Labels map[string]string
	// Branchable prepares the machine as a source for [Machine.Branch]. It cannot be switched on while it runs.
	Branchable bool
	// Ephemeral deletes the machine once it stops, on a fleet that can (cloud).
	Ephemeral bool
	// AutoStop stops the machine after it has been idle so long, on a fleet that can (cloud). Zero: never.
	AutoStop time.Duration
	// TTL is the machine's longest life, counted from its creation, on a fleet that can (cloud). Zero: no limit.
	TTL time.Duration
}

// Resources sizes a machine. A zero field takes the fleet's default.
type Resources struct {
	// CPUs is the number of virtual processors.
	CPUs int
	// MemoryMiB is the memory in MiB. Locally it is a ceiling that is not reserved; at least 64.
	MemoryMiB int
	// DiskGiB is the size of the storage disk, where /workspace lies, in GiB.
	DiskGiB int
	// OverlayGiB is the size of the disk behind the root file system in GiB (local fleet only).
	OverlayGiB int
}

// Network is what a machine may reach. The zero value blocks all egress. An allow-list wins over Open: with one, just
// what it names is reachable.
type Network struct {
	// Open allows all egress the host's own floor allows.
	Open bool
	// AllowHosts are host names whose addresses may be reached, their subdomains included.
	AllowHosts []string
	// AllowCIDRs are address ranges (10.0.0.0/8) or single addresses that may be reached.
	AllowCIDRs []string
}

// Blocked reports whether n lets nothing out.
func (n Network) Blocked() bool {
	return !n.Open && len(n.AllowHosts) == 0 && len(n.AllowCIDRs) == 0
}

// Port publishes a TCP port of the machine.
type Port struct {
	// Guest is the port inside the machine, 1 to 65535.
	Guest int
	// Host is the port on 127.0.0.1 that leads to it (local fleet only). Zero: the library picks a free one, and
	// [Info.Ports] tells which.
	Host int
}

// Mount shows a directory of the host in the machine (local fleet only).
type Mount struct {
	// Source is an absolute directory of the host. Symbolic links in it are resolved before it is sent.
	Source string
	// Target is an absolute path in the machine.
	Target string
	// ReadOnly refuses writes from inside.
	ReadOnly bool
}
