package cloudwire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// MachineInfo describes a machine. Some replies, and older servers, leave out everything but the id, or the state; what is missing is zero.
type MachineInfo struct {
	// ID is what identifies the machine; it is opaque.
	ID string `json:"id"`
	// Name is its name, "" if it has none.
	Name string `json:"name,omitempty"`
	// Source is where its disk comes from.
	Source MachineSource `json:"source,omitzero"`
	// State is what it does; values that are not listed must be expected.
	State State `json:"state,omitempty"`
	// Ready reports whether it serves, every published port included; nil: an old server, which does not tell.
	Ready *bool `json:"ready,omitempty"`
	// ReadyAt is when it was first seen serving, since its last start.
	ReadyAt Time `json:"readyAt,omitzero"`
	// Error is why its state is error.
	Error string `json:"error,omitempty"`
	// URL is the address of its first published port, "" while nothing serves it.
	URL string `json:"url,omitempty"`
	// Ports are its published ports.
	Ports []MachinePort `json:"ports,omitempty"`
	// Resources is its size.
	Resources MachineResources `json:"resources,omitzero"`
	// Network is what it may reach.
	Network Network `json:"network,omitzero"`
	// Env is the environment of its commands, Workdir their directory.
	Env     map[string]string `json:"env,omitempty"`
	Workdir string            `json:"workdir,omitempty"`
	// Labels are its labels. Nil: an old server, which does not tell; empty: it has none.
	Labels map[string]string `json:"labels,omitzero"`
	// Ephemeral reports whether it is deleted when it stops.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// AutoStopSeconds is after how many idle seconds it is stopped, TTLSeconds after how many it is deleted; nil: never.
	AutoStopSeconds *int64 `json:"autoStopSeconds,omitempty"`
	TTLSeconds      *int64 `json:"ttlSeconds,omitempty"`
	// Arch is amd64 or arm64.
	Arch string `json:"arch,omitempty"`
	// CreatedAt is when it was created, UpdatedAt when its record last changed, LastActivityAt when it was last used.
	CreatedAt      Time `json:"createdAt,omitzero"`
	UpdatedAt      Time `json:"updatedAt,omitzero"`
	LastActivityAt Time `json:"lastActivityAt,omitzero"`
	// CreatedBy is the account that made it.
	CreatedBy string `json:"createdBy,omitempty"`
	// Branchable and Forkable are two names of one field; nil: the server did not send it. Ask CanBranch.
	Branchable *bool `json:"branchable,omitempty"`
	Forkable   *bool `json:"forkable,omitempty"`
	// BranchState and CheckpointState are two names of one field: mutable, freezing or frozen, and "" for no source of branches.
	BranchState     string `json:"branchState,omitempty"`
	CheckpointState string `json:"checkpointState,omitempty"`
	// BranchGeneration and ForkGeneration are two names of one field: 0 for a root, 1 for its branch; nil for another machine.
	BranchGeneration *int `json:"branchGeneration,omitempty"`
	ForkGeneration   *int `json:"forkGeneration,omitempty"`
	// ParentMachineID is what it is a branch of, or "".
	ParentMachineID string `json:"parentMachineId,omitempty"`
	// RootBranchID and RootCheckpointID are two names of one field: the root, which has itself there, or "".
	RootBranchID     string `json:"rootBranchId,omitempty"`
	RootCheckpointID string `json:"rootCheckpointId,omitempty"`
	// Capabilities is what can be done with it now.
	Capabilities *MachineCapabilities `json:"capabilities,omitempty"`
}

// CanBranch reports whether either name of the field says that the machine can be branched.
func (m *MachineInfo) CanBranch() bool {
	return m.Branchable != nil && *m.Branchable || m.Forkable != nil && *m.Forkable
}

// Frozen reports whether the machine is a source of branches that nothing but branches can be made of, in any of the ways a server says so.
func (m *MachineInfo) Frozen() bool {
	return m.State == StateFrozen || m.BranchState == "frozen" || m.CheckpointState == "frozen"
}

// IsStarted reports whether a machine's process runs, by the newer word for it or the older. That is not yet ready.
func (s State) IsStarted() bool { return s == StateStarted || s == StateRunning }

// IsFailed reports whether a machine could not be started, by the newer word for it or the older.
func (s State) IsFailed() bool { return s == StateError || s == StateFailed }

// IsAvailable reports whether a checkpoint can be restored, by either word for it.
func (s CheckpointStatus) IsAvailable() bool { return s == CheckpointAvailable || s == CheckpointReady }

// MachineList is the answer to a list: a bare array, or the member machines of an object.
type MachineList []MachineInfo

// UnmarshalJSON decodes both forms; null is no machine. An object without that member is an error: it is some other answer, and not one
// that says that there are no machines.
func (l *MachineList) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		var o struct {
			Machines *[]MachineInfo `json:"machines"`
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		if o.Machines == nil {
			return errors.New("list of machines: an object without machines")
		}
		*l = *o.Machines
		return nil
	}
	return json.Unmarshal(b, (*[]MachineInfo)(l))
}
