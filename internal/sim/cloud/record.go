package cloud

import (
	"encoding/json"
	"time"
)

// The states of a machine. "creating" and "pausing" are never seen here; "frozen" is told by branchState.
const (
	stateStopped  = "stopped"
	stateStarting = "starting"
	stateStarted  = "started"
	statePaused   = "paused"
	stateError    = "error"
)

// The modes of a network.
const (
	modeOpen    = "open"
	modeBlocked = "blocked"
	modeAllow   = "allowCidrs"
)

// The states of a machine that can be branched.
const (
	branchMutable = "mutable"
	branchFrozen  = "frozen"
)

// source is what a machine is made of.
type source struct {
	Type      string  `json:"type"`
	Reference string  `json:"reference"`
	Arch      *string `json:"arch,omitempty"`
}

// resources are what a machine has.
type resources struct {
	CPUs       uint32  `json:"cpus"`
	MemoryMB   uint32  `json:"memoryMb"`
	DiskGB     *uint64 `json:"diskGb"`
	Durability *string `json:"diskDurability,omitempty"`
}

// network is where a machine may send to.
type network struct {
	Mode  string
	CIDRs []string
	Hosts []string
}

// MarshalJSON leaves out what the mode has not, and nothing else.
func (n network) MarshalJSON() ([]byte, error) {
	if n.Mode != modeAllow {
		return json.Marshal(map[string]string{"mode": n.Mode})
	}
	return json.Marshal(struct {
		Mode  string   `json:"mode"`
		CIDRs []string `json:"cidrs"`
		Hosts []string `json:"hosts"`
	}{n.Mode, append([]string{}, n.CIDRs...), append([]string{}, n.Hosts...)})
}

// port is a published port. Its host port is given at the start.
type port struct {
	Port     uint16  `json:"port"`
	HostPort *uint16 `json:"hostPort"`
}

// historyEntry is something that happened to a machine.
type historyEntry struct {
	ID        string    `json:"id"`
	Level     string    `json:"level"`
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"createdAt"`
}

// record is what is written down of a machine.
type record struct {
	ID      string `json:"id"`
	Seq     int    `json:"seq"` // in the order of creation
	Account string `json:"account"`
	Name    string `json:"name"`
	// State is one of stopped, started, paused and error.
	State string `json:"state"`
	Error string `json:"error,omitempty"`

	Source    source            `json:"source"`
	Resources resources         `json:"resources"`
	Network   network           `json:"network"`
	Env       map[string]string `json:"env"`
	Workdir   *string           `json:"workdir,omitempty"`
	Command   []string          `json:"command,omitempty"`
	Ports     []port            `json:"ports"`
	Public    bool              `json:"public,omitempty"`
	Labels    map[string]string `json:"labels"`
	// Credentials are the names of those that a command can use.
	Credentials []string `json:"credentials,omitempty"`

	Ephemeral bool   `json:"ephemeral,omitempty"`
	Used      bool   `json:"used,omitempty"` // it was started at least once
	AutoStop  uint64 `json:"autoStopSeconds,omitempty"`
	TTL       uint64 `json:"ttlSeconds,omitempty"`
	// HasAutoStop and HasTTL: they were given, though perhaps as 0.
	HasAutoStop bool `json:"hasAutoStop,omitempty"`
	HasTTL      bool `json:"hasTtl,omitempty"`

	Branchable bool `json:"branchable,omitempty"`
	// Frozen: it is kept still as the base of branches.
	Frozen     bool   `json:"frozen,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Root       string `json:"root,omitempty"`
	Generation int    `json:"generation,omitempty"`
	// Checkpoint is what it was restored from.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Base is what it is booted from, if that is not its source.
	Base  *string   `json:"base,omitempty"`
	Cache *cacheUse `json:"cache,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	ReadyAt   time.Time `json:"readyAt,omitzero"`
	ActiveAt  time.Time `json:"activeAt,omitzero"`
	DeletedAt time.Time `json:"deletedAt,omitzero"`

	Meter   meter          `json:"meter"`
	History []historyEntry `json:"history"`
	// Share is the token of its share link, Links that of its port links.
	Share string `json:"share,omitempty"`
	Links string `json:"links,omitempty"`
	// Sessions are by their ids.
	Sessions map[string]session `json:"sessions,omitempty"`
}
