package local

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// Inspect implements [smol.Backend]. The id of a local machine is its name. For a machine that should run the service asks the machine,
// which takes up to three seconds if that does not answer.
func (b *Backend) Inspect(ctx context.Context, ref string) (*smol.Info, error) {
	r, err := request("inspect", http.MethodGet, ref, "")
	if err != nil {
		return nil, err
	}
	return b.machine(ctx, r, nil)
}

// List implements [smol.Backend]. The service lists all machines of this host's user, also those made by the smolvm command and helpers of
// its own, in no order. There are no labels: asking for some is an error matching errors.ErrUnsupported.
func (b *Backend) List(ctx context.Context, labels map[string]string) iter.Seq2[*smol.Info, error] {
	return func(yield func(*smol.Info, error) bool) {
		list, err := b.list(ctx, labels)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range list.Machines {
			if !yield(infoOf(&list.Machines[i]), nil) {
				return
			}
		}
	}
}

func (b *Backend) list(ctx context.Context, labels map[string]string) (*localwire.MachineList, error) {
	const op = "list"
	if len(labels) > 0 {
		return nil, rest.Describe(unsupported("ListOptions.Labels", "labels", "list all and compare the names"), op, "")
	}
	var list struct {
		Machines *[]localwire.MachineInfo `json:"machines"`
	}
	r := &rest.Request{Op: op, Method: http.MethodGet, Path: machinesRoute, Limit: maxList}
	if err := b.send(ctx, r, nil, &list); err != nil {
		return nil, err
	}
	if list.Machines == nil {
		return nil, &smol.Error{Op: op, Code: smol.CodeUnknown, Message: "the reply is no list of machines"}
	}
	return &localwire.MachineList{Machines: *list.Machines}, nil
}

// Health is what a service says about itself.
type Health struct {
	// Status is "ok" for a service that is up.
	Status string
	// Version is its release, such as "1.14.5".
	Version string
	// Machines and Running count its machines, all and running. Both are -1 if it could not tell.
	Machines, Running int
	// Uptime is how long it has been up, in whole seconds.
	Uptime time.Duration
}

// Health asks the service whether it is up and which release it is.
func (b *Backend) Health(ctx context.Context) (*Health, error) {
	const op = "health"
	var h localwire.Health
	if err := b.send(ctx, &rest.Request{Op: op, Method: http.MethodGet, Path: "/health"}, nil, &h); err != nil {
		return nil, err
	}
	if h.Status == "" {
		return nil, &smol.Error{
			Op: op, Code: smol.CodeUnknown, Message: "the reply is not that of smolvm", Hint: "something else may listen at " + b.traits.Endpoint,
		}
	}
	out := &Health{Status: h.Status, Version: h.Version, Machines: -1, Running: -1, Uptime: time.Duration(h.UptimeSeconds) * time.Second}
	if h.Machines != nil {
		out.Machines, out.Running = h.Machines.Total, h.Machines.Running
	}
	return out, nil
}
