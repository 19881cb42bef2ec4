package cloudwire

import (
	"encoding/json"
	"errors"
)

// errTwoNames is the refusal to send one field under both of its names, which the service answers with 422.
var errTwoNames = errors.New("branchable and forkable are two names of one field; set one")

// CreateMachineRequest says what machine to record. Source and Network must be set. Nil pointers, slices and maps, "" and every false are
// left out.
type CreateMachineRequest struct {
	// Source is where its disk comes from.
	Source MachineSource `json:"source"`
	// Name is the name; "" is left out, and the service makes one.
	Name string `json:"name,omitempty"`
	// Resources is its size; nil: 4 processors and 8192 MiB.
	Resources *MachineResources `json:"resources,omitempty"`
	// Network is what it may reach. The service would take it for open if it were left out, so it never is.
	Network Network `json:"network"`
	// Env is the environment of its commands. Replies show it, so it is no place for secrets.
	Env map[string]string `json:"env,omitempty"`
	// Workdir is the directory of its commands; "": the image's.
	Workdir string `json:"workdir,omitempty"`
	// Command is the workload; nil: the image's.
	Command []string `json:"command,omitempty"`
	// Ports are the ports to publish, at most 16.
	Ports []MachinePort `json:"ports,omitempty"`
	// Public opens the address of the first port to anybody. No reply tells it.
	Public bool `json:"public,omitempty"`
	// Mounts are volumes, without effect on the service; RemoteMounts are buckets.
	Mounts       []VolumeMount `json:"mounts,omitempty"`
	RemoteMounts []RemoteMount `json:"remoteMounts,omitempty"`
	// Labels are its labels, at most 32. Nothing changes them later.
	Labels map[string]string `json:"labels,omitempty"`
	// Credentials are names of stored credentials.
	Credentials []string `json:"credentials,omitempty"`
	// CacheDisk is the cache disk to start from.
	CacheDisk *CacheDiskRef `json:"cacheDisk,omitempty"`
	// Branchable makes it a source of branches. Forkable is the same to older servers; never both.
	Branchable bool `json:"branchable,omitempty"`
	Forkable   bool `json:"forkable,omitempty"`
	// NestedVirt allows virtualization inside.
	NestedVirt bool `json:"nestedVirt,omitempty"`
	// Ephemeral deletes it once it stops.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// AutoStopSeconds is after how many idle seconds to stop it; nil: never. TTLSeconds is after how many seconds, counted from its
	// creation, to delete it; nil: never.
	AutoStopSeconds *int64 `json:"autoStopSeconds,omitempty"`
	TTLSeconds      *int64 `json:"ttlSeconds,omitempty"`
}

// MarshalJSON encodes r. It is an error to set Branchable and Forkable.
func (r CreateMachineRequest) MarshalJSON() ([]byte, error) {
	if r.Branchable && r.Forkable {
		return nil, errTwoNames
	}
	type plain CreateMachineRequest
	return json.Marshal(plain(r))
}

// PortsRequest is the whole list of ports to publish, in place of the one there is.
type PortsRequest struct {
	// Ports are the ports; none, nil too, is sent as a list of none.
	Ports []MachinePort `json:"ports"`
}

// MarshalJSON sends the list, never null.
func (r PortsRequest) MarshalJSON() ([]byte, error) {
	type plain PortsRequest
	return json.Marshal(plain{Ports: notNil(r.Ports)})
}
