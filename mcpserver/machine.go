package mcpserver

import (
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// machineResult is a machine as a client sees it.
type machineResult struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	State     string  `json:"state"`
	CPUs      int     `json:"cpus"`
	MemoryMB  int     `json:"memoryMb"`
	Network   string  `json:"network"`
	CreatedAt int64   `json:"createdAt"`
	Image     *string `json:"image"`
	PID       *int    `json:"pid"`
	URL       *string `json:"url"`
	StopsAt   *string `json:"stopsAt"`
	DeletesAt *string `json:"deletesAt"`

	Ports []portResult `json:"ports"`
}

// portResult is a published port. Host is where 127.0.0.1 leads to it; null in the cloud, where the machine's URL does.
type portResult struct {
	Guest int  `json:"guest"`
	Host  *int `json:"host"`
}

// machineOf returns what is told of a machine.
func machineOf(i *smol.Info) machineResult {
	m := machineResult{
		ID: i.ID, Name: i.Name, State: i.RawState, CPUs: i.Resources.CPUs, MemoryMB: i.Resources.MemoryMiB, Network: networkWord(i.Network),
		Image: optional(i.Image), PID: optional(i.PID), URL: optional(i.URL), StopsAt: timestamp(i.StopsAt), DeletesAt: timestamp(i.DeletesAt),
		Ports: []portResult{},
	}
	for _, p := range i.Ports {
		m.Ports = append(m.Ports, portResult{Guest: p.Guest, Host: optional(p.Host)})
	}
	if m.State == "" {
		m.State = string(i.State)
	}
	if m.Name == "" {
		m.Name = i.ID
	}
	if !i.CreatedAt.IsZero() {
		m.CreatedAt = i.CreatedAt.Unix()
	}
	return m
}

// networkWord says what n lets out: an allow-list wins over the mode.
func networkWord(n smol.Network) string {
	if allow := slices.Concat(n.AllowHosts, n.AllowCIDRs); len(allow) > 0 {
		return "allow(" + strings.Join(allow, ",") + ")"
	}
	if n.Open {
		return "open"
	}
	return "blocked"
}

// optional returns a pointer to v, or nil for the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return optional(t.UTC().Format(time.RFC3339))
}
