package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/ledger"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// shutdownBound is how long the end of a session, and of a server, may take.
	shutdownBound = 10 * time.Second
	// quietBound is how much of it calls get that were cancelled, and stopBound how much of it the fleets get in the end.
	quietBound, stopBound = 4 * time.Second, 2 * time.Second
	// maxDeletes is how many machines are deleted at once.
	maxDeletes = 8
)

// doomed is a machine that is to be deleted if it is what it is thought to be.
type doomed struct {
	target Target
	name   string
	// machine is the machine itself, if it is known; otherwise the one of that name is looked at.
	machine *smol.Machine
	// ours reports whether what was found is meant; otherwise it is left alone.
	ours func(*smol.Info) bool
	// claim is where it comes from, for one of a session of this process.
	claim *claim
	// entry is where it comes from, for one that was left by another process on this host.
	entry ledger.Entry
	// took says whether there was a machine and it was deleted, and err why it is still there, or may be.
	took bool
	err  error
}

// endSession deletes the ephemeral machines of ss, whose calls have ended or were given up, and lets go of the session. What could not be
// deleted stays on record, or keeps its labels.
func (k *keeper) endSession(ctx context.Context, ss *session) error {
	k.mu.Lock()
	var all []*doomed
	for key, c := range k.kept {
		if key.session == ss {
			all = append(all, &doomed{target: key.target, name: key.name, machine: c.machine, ours: c.ours(k.host), claim: c})
		}
	}
	k.mu.Unlock()
	k.deleteAll(ctx, all)
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, d := range all {
		if d.err == nil && d.claim.asked > 0 {
			d.err = errors.New("a call that makes it is still under way")
		}
		if d.err == nil && !d.took && d.claim.unsure && d.target == TargetLocal {
			delete(k.kept, d.claim.kept) // it may still come: it stays on record until it cannot, as one of a process that was killed
			continue
		}
		if d.err == nil {
			k.drop(d.claim)
			continue
		}
		delete(k.kept, d.claim.kept)
		errs = append(errs, fmt.Errorf("%s machine %s: %w", d.target, d.name, d.err))
	}
	k.locks[ss].End()
	delete(k.locks, ss)
	k.report(ss.id, all)
	if len(errs) > 0 {
		k.janitor.again()
	}
	return errors.Join(errs...)
}

// ours returns how to tell a machine that this session has made from one that others have made under the same name.
func (c *claim) ours(host string) func(*smol.Info) bool {
	if c.target == TargetCloud {
		// Without labels, it is left to its time limit.
		return func(i *smol.Info) bool { return marked(i, host, c.session.id) }
	}
	e := c.entry
	return func(i *smol.Info) bool { return e.Made(i.CreatedAt) }
}

// deleteAll deletes machines, several at once. One whose branches need it goes after them; one whose branches stay, stays.
func (k *keeper) deleteAll(ctx context.Context, all []*doomed) {
	for left := all; len(left) > 0; {
		turn := make(chan struct{}, maxDeletes)
		var wg sync.WaitGroup
		for _, d := range left {
			turn <- struct{}{}
			wg.Go(func() {
				defer func() { <-turn }()
				d.took, d.err = k.delete(ctx, d)
			})
		}
		wg.Wait()
		before := len(left)
		left = slices.DeleteFunc(slices.Clone(left), func(d *doomed) bool { return !errors.Is(d.err, smol.ErrConflict) })
		if len(left) == before {
			return
		}
	}
}

// delete deletes a machine, and reports whether there was one to delete.
func (k *keeper) delete(ctx context.Context, d *doomed) (bool, error) {
	m := d.machine
	if m == nil {
		fleet, err := k.server.sources[d.target].Fleet(ctx)
		if err != nil {
			return false, err
		}
		m = fleet.Machine(d.name)
		info, err := m.Info(ctx)
		if err != nil {
			return false, ignoreNotFound(err)
		}
		if !d.ours(info) {
			return false, nil
		}
	}
	err := m.Delete(ctx, nil)
	return err == nil, ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if isNotFound(err) {
		return nil
	}
	return err
}

// report logs what was deleted and what was not.
func (k *keeper) report(session string, all []*doomed) {
	var gone []string
	for _, d := range all {
		if d.err != nil {
			k.server.log.Warn("a machine was not deleted; the next start tries again", "session", session, "target", d.target, "machine", d.name, "error", d.err)
		} else if d.took {
			gone = append(gone, d.name)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		k.server.log.Info("ephemeral machines were deleted", "session", session, "machines", gone)
	}
}
