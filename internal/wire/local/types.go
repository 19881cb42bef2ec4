package localwire

import "encoding/json"

// CreateMachineRequest says what machine to record. Image, From and RegistryRef exclude each other; with none of them it is a bare
// machine. Nil pointers, nil slices, "" and every false but that of Network are left out.
type CreateMachineRequest struct {
	// Name is the name; nil: the server makes one, vm- and eight hexadecimal digits. An empty one is refused.
	Name *string `json:"name,omitempty"`
	// CPUs is how many virtual processors; nil: 4. Zero is refused, above 16 counts as 16.
	CPUs *uint8 `json:"cpus,omitempty"`
	// MemoryMb is a ceiling in MiB; nil: 8192. Below 64 is refused.
	MemoryMb *uint32 `json:"memoryMb,omitempty"`
	// StorageGb is the size of the storage disk in GiB; nil: 20. Zero is refused.
	StorageGb *uint64 `json:"storageGb,omitempty"`
	// OverlayGb is the size of the overlay disk in GiB; nil: 10. Zero is refused.
	OverlayGb *uint64 `json:"overlayGb,omitempty"`
	// Mounts are host directories to show.
	Mounts []MountSpec `json:"mounts,omitempty"`
	// Ports are TCP ports to publish.
	Ports []PortSpec `json:"ports,omitempty"`
	// Network asks for outbound networking. It is always sent, so that what was meant can be read off the wire.
	Network bool `json:"network"`
	// NetworkBackend is best left out; a wrong choice fails only at the start.
	NetworkBackend NetworkBackend `json:"networkBackend,omitempty"`
	// AllowedCIDRs are address ranges that may be reached. Nil is left out and means all of them; an empty slice is sent and means
	// none. It does not itself switch networking on.
	AllowedCIDRs []string `json:"allowedCidrs,omitzero"`
	// AllowedHosts are host names that may be reached, with their subdomains. Nil is left out and means that there is no such list;
	// an empty slice is sent. A list with names switches networking on.
	AllowedHosts []string `json:"allowedHosts,omitzero"`
	// GPU asks for a GPU.
	GPU bool `json:"gpu,omitempty"`
	// CUDA asks for CUDA, AutoGraph implies it.
	CUDA      bool `json:"cuda,omitempty"`
	AutoGraph bool `json:"autoGraph,omitempty"`
	// DockerSocket is stored and of no effect here.
	DockerSocket bool `json:"dockerSocket,omitempty"`
	// Image is an OCI reference; it is pulled inside the machine, at its start.
	Image string `json:"image,omitempty"`
	// From is a file on the server's host with a packed machine or a checkpoint.
	From string `json:"from,omitempty"`
	// RegistryRef is a packed machine in a registry, pulled by the create; RegistryIdentityToken is the bearer token of that pull.
	RegistryRef           string `json:"registryRef,omitempty"`
	RegistryIdentityToken string `json:"registryIdentityToken,omitempty"`
	// BlobPeers are for fleets of hosts only.
	BlobPeers []string `json:"blobPeers,omitempty"`
	// Entrypoint and Cmd are together the workload; if either has an element both replace the image's own.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	// Env and Workdir are for the workload only; later commands do not see them.
	Env     []EnvVar `json:"env,omitempty"`
	Workdir string   `json:"workdir,omitempty"`
	// Restart is when to boot the machine again; nil: never.
	Restart *RestartSpec `json:"restart,omitempty"`
	// Secrets are refused unless empty.
	Secrets map[string]SecretRef `json:"secrets,omitempty"`
	// BlockIO is the block engine, since release 1.14.3.
	BlockIO string `json:"blockIo,omitempty"`
	// NestedVirt allows virtualization inside, since release 1.23.0.
	NestedVirt bool `json:"nestedVirt,omitempty"`
}

// MachineInfo describes a machine. Its numbers are wider than the wire's, so that a newer server's still fit.
type MachineInfo struct {
	// Name is what identifies the machine.
	Name string `json:"name"`
	// State is what the machine does; values that are not listed must be expected.
	State State `json:"state"`
	// CPUs is how many virtual processors it has, MemoryMb its memory in MiB.
	CPUs     int   `json:"cpus"`
	MemoryMb int64 `json:"memoryMb"`
	// PID is the host process; zero is left out and means none.
	PID int `json:"pid,omitempty"`
	// Mounts and Ports are what it was given; neither is ever left out by a server.
	Mounts []MountInfo `json:"mounts"`
	Ports  []PortSpec  `json:"ports"`
	// Network reports whether outbound networking was asked for. It stays false when ports or an egress policy brought it.
	Network bool `json:"network"`
	// GPU and CUDA report what it has.
	GPU  bool `json:"gpu"`
	CUDA bool `json:"cuda"`
	// NetworkBackend is what create asked for; "" is left out.
	NetworkBackend NetworkBackend `json:"networkBackend,omitempty"`
	// AllowedCIDRs are the address ranges that may be reached, normalised. Nil, absent: all of them. Empty: none.
	AllowedCIDRs []string `json:"allowedCidrs,omitzero"`
	// AllowedHosts are the host names that may be reached. Nil, absent: there is no such list.
	AllowedHosts []string `json:"allowedHosts,omitzero"`
	// StorageGb and OverlayGb are the sizes of its disks in GiB.
	StorageGb int64 `json:"storageGb"`
	OverlayGb int64 `json:"overlayGb"`
	// Forkable reports whether ordinary starts make it a source of branches. Branchable is the newer spelling, which a server may
	// send beside or instead of it; nil: it did not.
	Forkable   bool  `json:"forkable"`
	Branchable *bool `json:"branchable,omitempty"`
	// CUDAForkPoolSize and CUDAVRAMLimitMib describe its fork pool; nil: it has none.
	CUDAForkPoolSize *uint32 `json:"cudaForkPoolSize,omitempty"`
	CUDAVRAMLimitMib *uint64 `json:"cudaVramLimitMib,omitempty"`
	// ForkpointHeld reports whether it is a parked clone.
	ForkpointHeld bool `json:"forkpointHeld"`
	// EgressBytes counts the bytes sent out since boot; nil: not measured.
	EgressBytes *uint64 `json:"egressBytes,omitempty"`
	// CPUSeconds and CPUMillis are the processor time of the host process, RSSMb its resident MiB; nil: it does not run.
	CPUSeconds *uint64 `json:"cpuSeconds,omitempty"`
	CPUMillis  *uint64 `json:"cpuMillis,omitempty"`
	RSSMb      *uint64 `json:"rssMb,omitempty"`
	// DiskUsedMb is what it takes on the host's disk in MiB; nil: not measured.
	DiskUsedMb *uint64 `json:"diskUsedMb,omitempty"`
	// CreatedAt is when it was created, in Unix seconds.
	CreatedAt int64 `json:"createdAt"`
	// Image is the resolved image of the workload, told by releases after 1.14.
	Image string `json:"image,omitempty"`
	// EgressSignals are matches of the egress watch list, told by releases after 1.22; their form is not known.
	EgressSignals []json.RawMessage `json:"egressSignals,omitempty"`
}

// CanBranch reports whether either spelling says that ordinary starts make the machine a source of branches.
func (m *MachineInfo) CanBranch() bool {
	return m.Forkable || m.Branchable != nil && *m.Branchable
}
