package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/ledger"
	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/smol"
)

// sweepAgain is how long after a sweep there is another: a create may have been under way when its process was killed.
const sweepAgain = 60 * time.Second

// janitor is the part of the keeper that looks for what other processes have left.
type janitor struct {
	once sync.Once
	stop chan struct{} // closed when no more sweeps are wanted
	quit sync.Once
	done sync.WaitGroup
	more chan struct{} // a session has left something
}

func newJanitor() janitor { return janitor{stop: make(chan struct{}), more: make(chan struct{}, 1)} }

// again asks for another sweep, in a while.
func (j *janitor) again() {
	select {
	case j.more <- struct{}{}:
	default:
	}
}

// begin starts to delete what sessions of this host have left whose processes are gone: now, and in a minute again. Further calls do nothing.
func (k *keeper) begin(ctx context.Context) {
	if k.ledger == nil {
		return
	}
	k.once.Do(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		k.done.Go(func() { <-k.stop; cancel() })
		k.done.Go(func() { k.sweeps(ctx) })
	})
}

// finish ends the sweeps and waits for one that is under way.
func (k *keeper) finish() {
	k.once.Do(func() {})
	k.quit.Do(func() { close(k.stop) })
	k.done.Wait()
}

func (k *keeper) sweeps(ctx context.Context) {
	for last := false; ; last = true {
		k.sweep(ctx, last)
		if last {
			select {
			case <-k.more:
			case <-ctx.Done():
				return
			}
		}
		if pace.Wait(ctx, sweepAgain) != nil {
			return
		}
	}
}

// sweep deletes what is left. The last one does not wait any longer for machines that have not come.
func (k *keeper) sweep(ctx context.Context, last bool) {
	err := k.sweepLocal(ctx, last)
	if err == nil {
		err = k.ledger.Tidy(ctx)
	}
	if err = errors.Join(err, k.sweepCloud(ctx)); err != nil && ctx.Err() == nil {
		k.server.log.Error("what earlier sessions have left could not be looked for", "error", err)
	}
}

// sweepLocal deletes what is on record for sessions whose process is gone. The service is asked, or started, only if there is any.
func (k *keeper) sweepLocal(ctx context.Context, last bool) error {
	if !slices.Contains(k.server.targets, TargetLocal) {
		return nil
	}
	entries, err := k.ledger.Entries()
	if err != nil {
		return err
	}
	var errs []error
	dead := map[string]*ledger.Session{}
	alive := map[string]bool{} // names that are on record for a session that lives
	for id, all := range perSession(entries) {
		s, err := k.ledger.Take(ctx, id)
		if errs = append(errs, err); s != nil {
			defer s.End()
			dead[id] = s
			continue
		}
		for _, e := range all {
			alive[e.Name] = true
		}
	}
	left := map[string][]*doomed{}
	for _, e := range entries {
		if dead[e.Session] == nil || alive[e.Name] || e.Service != k.server.config.LocalURL {
			continue // not left behind, not known to be, or in a service that this process does not use
		}
		left[e.Session] = append(left[e.Session], &doomed{target: TargetLocal, name: e.Name, ours: func(i *smol.Info) bool { return e.Made(i.CreatedAt) }, entry: e})
	}
	for id, all := range left {
		errs = append(errs, k.clear(ctx, id, all, last))
	}
	return errors.Join(errs...)
}

func perSession(entries []ledger.Entry) map[string][]ledger.Entry {
	out := map[string][]ledger.Entry{}
	for _, e := range entries {
		out[e.Session] = append(out[e.Session], e)
	}
	return out
}

// clear deletes what a session has left locally, and takes it off the record.
func (k *keeper) clear(ctx context.Context, id string, all []*doomed, last bool) error {
	k.deleteAll(ctx, all)
	k.report(id, all)
	var errs []error
	for _, d := range all {
		// One that was not there may still come.
		if d.err == nil && (d.took || last || d.entry.Settled(time.Now())) {
			errs = append(errs, k.ledger.Remove(ctx, id, d.name))
		}
	}
	return errors.Join(errs...)
}

// sweepCloud deletes what carries the labels of this host and of a session whose process is gone. A host that never had a machine has no id,
// and nothing is asked.
func (k *keeper) sweepCloud(ctx context.Context) error {
	if !slices.Contains(k.server.targets, TargetCloud) {
		return nil
	}
	host, err := k.ledger.KnownHost()
	if err != nil || host == "" {
		return err
	}
	fleet, err := k.server.sources[TargetCloud].Fleet(ctx)
	if err != nil {
		return err
	}
	sessions := map[string][]*doomed{}
	for i, err := range fleet.List(ctx, &smol.ListOptions{Labels: map[string]string{labelHost: host}}) {
		if err != nil {
			return err
		}
		id := i.Labels[labelSession]
		// A branch that was made by other means has the labels of its source, and another name.
		if marked(i, host, id) && k.ephemeral(i.Name) {
			sessions[id] = append(sessions[id], &doomed{target: TargetCloud, name: i.Name, machine: fleet.Machine(i.ID)})
		}
	}
	var errs []error
	for id, all := range sessions {
		s, err := k.ledger.Take(ctx, id)
		if errs = append(errs, err); s == nil {
			continue // it lives
		}
		k.deleteAll(ctx, all)
		k.report(id, all)
		s.End()
	}
	return errors.Join(errs...)
}
