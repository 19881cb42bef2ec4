package mcpserver

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// shutdownBound is how long the end of a session may take.
const shutdownBound = 10 * time.Second

// keeper knows the ephemeral machines of this process, so that they go when their session ends.
type keeper struct {
	server *Server

	mu   sync.Mutex
	kept map[kept]*session
}

// kept is an ephemeral machine.
type kept struct {
	target Target
	name   string
}

func newKeeper(s *Server) *keeper { return &keeper{server: s, kept: map[kept]*session{}} }

// ephemeral reports whether a machine of that name goes with its session.
func (k *keeper) ephemeral(name string) bool {
	return strings.HasPrefix(name, k.server.config.MachinePrefix)
}

// expect is called before a fleet is asked for a machine of ss. An error forbids it.
func (k *keeper) expect(_ context.Context, ss *session, t Target, name string) error {
	if !k.ephemeral(name) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[kept{t, name}] = ss
	return nil
}

// forget is called once a machine is known to be gone, or not to have come about. Names that are not kept are no error.
func (k *keeper) forget(_ context.Context, t Target, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, kept{t, name})
	return nil
}

// spec adds to the spec of an ephemeral machine what lets the fleet itself, or a later process, delete it.
func (k *keeper) spec(_ *session, t Target, spec *smol.Spec) {
	if t != TargetCloud || !k.ephemeral(spec.Name) {
		return
	}
	spec.TTL, spec.AutoStop = k.server.config.EphemeralTTL, k.server.config.EphemeralAutoStop
}

// labels returns the labels of an ephemeral branch; nil leaves those of its source.
func (k *keeper) labels(_ *session, _ Target, _ string) map[string]string { return nil }

// endSession deletes the ephemeral machines of ss.
func (k *keeper) endSession(ctx context.Context, ss *session) error {
	k.mu.Lock()
	all := maps.Clone(k.kept)
	k.mu.Unlock()
	var errs []error
	for m, owner := range all {
		if owner != ss {
			continue
		}
		fleet, err := k.server.sources[m.target].Fleet(ctx)
		if err == nil {
			err = fleet.Machine(m.name).Delete(ctx, &smol.DeleteOptions{Cascade: true})
		}
		if err != nil && !errors.Is(err, smol.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, k.forget(ctx, m.target, m.name))
	}
	return errors.Join(errs...)
}
