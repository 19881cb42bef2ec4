package cloud

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"time"
)

// machineView is what a client is told about a machine.
type machineView struct {
	ID              string            `json:"id"`
	Name            *string           `json:"name"`
	State           string            `json:"state"`
	Ready           bool              `json:"ready"`
	ReadyAt         *time.Time        `json:"readyAt"`
	Error           *string           `json:"error"`
	Source          source            `json:"source"`
	Arch            *string           `json:"arch"`
	Resources       resources         `json:"resources"`
	Network         network           `json:"network"`
	Ports           []port            `json:"ports"`
	URL             *string           `json:"url"`
	Env             map[string]string `json:"env"`
	Workdir         *string           `json:"workdir"`
	Labels          map[string]string `json:"labels"`
	Ephemeral       bool              `json:"ephemeral"`
	AutoStopSeconds *uint64           `json:"autoStopSeconds"`
	TTLSeconds      *uint64           `json:"ttlSeconds"`
	branchView
	forkView
	ParentMachineID *string    `json:"parentMachineId"`
	Capabilities    any        `json:"capabilities"`
	CreatedAt       time.Time  `json:"createdAt"`
	UpdatedAt       time.Time  `json:"updatedAt"`
	LastActivityAt  *time.Time `json:"lastActivityAt"`
	CreatedBy       *string    `json:"createdBy"`
}

// branchView and forkView are the same in new and in old words.
type branchView struct {
	Branchable bool    `json:"branchable"`
	State      *string `json:"branchState"`
	Generation *int    `json:"branchGeneration"`
	Root       *string `json:"rootBranchId"`
}

type forkView struct {
	Forkable   bool    `json:"forkable"`
	State      *string `json:"checkpointState"`
	Generation *int    `json:"forkGeneration"`
	Root       *string `json:"rootCheckpointId"`
}

// maxBatch is how many branches one request may make.
const maxBatch = 64

type branchAbilities struct {
	Exec           bool `json:"exec"`
	Branch         bool `json:"branch"`
	BranchBatch    bool `json:"branchBatch"`
	NestedBranch   bool `json:"nestedBranch"`
	MaxBranchBatch int  `json:"maxBranchBatch"`
}

type forkAbilities struct {
	Exec         bool `json:"exec"`
	Fork         bool `json:"fork"`
	ForkBatch    bool `json:"forkBatch"`
	NestedFork   bool `json:"nestedFork"`
	MaxForkBatch int  `json:"maxForkBatch"`
}

// abilities are what can be done with a machine at the moment, in both words.
func abilities(exec, branch bool) any {
	return struct {
		branchAbilities
		Fork         bool `json:"fork"`
		ForkBatch    bool `json:"forkBatch"`
		NestedFork   bool `json:"nestedFork"`
		MaxForkBatch int  `json:"maxForkBatch"`
	}{branchAbilities{exec, branch, branch, branch, maxBatch}, branch, branch, branch, maxBatch}
}

// optional is nil for a zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// dnsLabel is a name that can be part of a host name: no hyphen at the ends or beside another.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ingress is the address of the first published port, or "".
func (r *record) ingress() string {
	if len(r.Ports) == 0 || !dnsLabel.MatchString(r.Name) || len(r.Name) > 63 {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.ID))
	return fmt.Sprintf("https://%s-%06x.apps.smolmachines.com", r.Name, h.Sum32()&0xffffff)
}

// view is what can be told now.
func (m *machine) view() *machineView {
	m.probe()
	rec, v := m.snapshot()
	m.mu.Lock()
	starting := m.starting
	m.mu.Unlock()
	w := &machineView{
		ID: rec.ID, Name: optional(rec.Name), State: rec.State, Error: optional(rec.Error), Source: rec.Source, Arch: rec.Source.Arch,
		Resources: rec.Resources, Network: rec.Network, Ports: append([]port{}, rec.Ports...), Env: rec.Env, Workdir: rec.Workdir,
		Labels: rec.Labels, Ephemeral: rec.Ephemeral, ParentMachineID: optional(rec.Parent), CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
		LastActivityAt: optional(rec.ActiveAt), CreatedBy: optional(rec.Account),
	}
	if rec.HasAutoStop {
		w.AutoStopSeconds = &rec.AutoStop
	}
	if rec.HasTTL {
		w.TTLSeconds = &rec.TTL
	}
	up := v != nil && rec.State == stateStarted
	switch {
	case starting:
		w.State, w.Error = stateStarting, nil
	case !up && rec.State == stateStarted: // it has just ended
		w.State = stateStopped
	}
	if w.Arch == nil && up {
		w.Arch = &m.s.o.Arch
	}
	if up && !rec.Frozen && !rec.ReadyAt.IsZero() {
		w.Ready, w.ReadyAt, w.URL = true, &rec.ReadyAt, optional(rec.ingress())
	}
	w.branches(&rec, up)
	return w
}

// branches fills in what concerns branches.
func (w *machineView) branches(rec *record, up bool) {
	w.Capabilities = abilities(up && !rec.Frozen, up && rec.Branchable)
	b := branchView{Branchable: rec.Branchable, Root: optional(rec.Root)}
	if rec.Branchable {
		state := branchMutable
		if rec.Frozen {
			state = branchFrozen
		}
		b.State = &state
	}
	if rec.Root != "" {
		b.Generation = &rec.Generation
	}
	w.branchView, w.forkView = b, forkView{b.Branchable, b.State, b.Generation, b.Root}
}
