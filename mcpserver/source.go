package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

// FleetSource gives the server one of its fleets. It is safe for concurrent use.
type FleetSource interface {
	// Fleet returns the fleet, doing what it takes, such as starting its service. A failure is not remembered: the next call tries
	// anew. The caller does not close the fleet.
	Fleet(ctx context.Context) (*smol.Fleet, error)
	// Unavailable says in a sentence why the fleet cannot be used on this host, without waiting and without starting anything; "" if
	// nothing is known to be in the way.
	Unavailable(ctx context.Context) string
	// Close lets go of the fleet, after the machines that had to go are gone, and stops what Fleet has started.
	Close(ctx context.Context) error
}

// FixedFleet returns a source of a fleet that there is already, for tests and for programs that embed the server. Close leaves
// the fleet open.
func FixedFleet(f *smol.Fleet) FleetSource { return fixedFleet{f} }

type fixedFleet struct{ fleet *smol.Fleet }

func (f fixedFleet) Fleet(context.Context) (*smol.Fleet, error) { return f.fleet, nil }
func (f fixedFleet) Unavailable(context.Context) string         { return "" }
func (f fixedFleet) Close(context.Context) error                { return nil }

// misconfigured returns the error of a service that cannot be had with this configuration, with the keys of it instead of the library's fields.
// Nothing that a client sends could change it.
func misconfigured(err error, names *strings.Replacer) error {
	if !errors.Is(err, smol.ErrInvalid) {
		return err
	}
	return &ToolError{Code: CodeUnavailable, Message: "the configuration of this server is wrong: " + names.Replace(plain(err)), Hint: "Correct it, and start smol-mcp again.", Err: err}
}

var (
	localNames = strings.NewReplacer("ServeOptions.Dir", "runtimeDir", "ServeOptions.MinVersion", "minSmolvm", "ServeOptions.StartTimeout", "serveStartTimeoutSecs", "Options.URL", "localUrl")
	cloudNames = strings.NewReplacer("Options.Token", "cloudToken", "Options.URL", "cloudUrl", "Options.CAFile", "caFile")
)
