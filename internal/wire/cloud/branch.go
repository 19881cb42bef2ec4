package cloudwire

import "encoding/json"

// BranchRequest says what branch to make.
type BranchRequest struct {
	// Name is the branch's name.
	Name string `json:"name"`
	// Ports are its published ports; none: the source's.
	Ports []MachinePort `json:"ports,omitempty"`
	// Branchable lets it be branched again. Forkable is the same to older servers; never both.
	Branchable bool `json:"branchable,omitempty"`
	Forkable   bool `json:"forkable,omitempty"`
	// FreezeSource leaves the source frozen: it can be branched, and nothing else.
	FreezeSource bool `json:"freezeSource,omitempty"`
	// Labels are its labels. Nil is left out and means those of the source; an empty map is sent and means none.
	Labels map[string]string `json:"labels,omitzero"`
}

// MarshalJSON encodes r. It is an error to set Branchable and Forkable.
func (r BranchRequest) MarshalJSON() ([]byte, error) {
	if r.Branchable && r.Forkable {
		return nil, errTwoNames
	}
	type plain BranchRequest
	return json.Marshal(plain(r))
}

// BranchBatchRequest says what branches to make, all or none. Names wins over Count.
type BranchBatchRequest struct {
	// Count is how many, at most 64; 0 is left out.
	Count int `json:"count,omitempty"`
	// Names are their names.
	Names []string `json:"names,omitempty"`
	// NamePrefix is what made-up names begin with, before -1, -2 and so on; "": the source's name.
	NamePrefix string `json:"namePrefix,omitempty"`
	// Ports are their published ports; none: the source's.
	Ports []MachinePort `json:"ports,omitempty"`
	// Branchable lets them be branched again. Forkable is the same to older servers; never both.
	Branchable bool `json:"branchable,omitempty"`
	Forkable   bool `json:"forkable,omitempty"`
	// FreezeSource leaves the source frozen.
	FreezeSource bool `json:"freezeSource,omitempty"`
	// Labels are their labels. Nil is left out and means those of the source; an empty map is sent and means none.
	Labels map[string]string `json:"labels,omitzero"`
}

// MarshalJSON encodes r. It is an error to set Branchable and Forkable.
func (r BranchBatchRequest) MarshalJSON() ([]byte, error) {
	if r.Branchable && r.Forkable {
		return nil, errTwoNames
	}
	type plain BranchBatchRequest
	return json.Marshal(plain(r))
}
