package cloud

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// Delete implements [smol.Backend]. Nothing comes back, and the bill for the machine ends. With DeleteOptions.Cascade its branches, and theirs, go
// first.
func (b *Backend) Delete(ctx context.Context, id string, opts *smol.DeleteOptions) error {
	c, err := newCall(opDelete, id)
	if err != nil {
		return err
	}
	if opts != nil && opts.Cascade {
		if err := b.deleteBranches(ctx, id); err != nil {
			return err
		}
	}
	return b.remove(ctx, c, nil)
}

// remove sends a delete. That the machine is not there is its success if it was sent before: the answer to the first was lost. If there is no
// answer at all, it looks.
func (b *Backend) remove(ctx context.Context, c *call, out any) error {
	c.MayBeEmpty = true
	err := b.send(ctx, c, nil, out)
	if _, missing := rest.Answer(err, http.StatusNotFound); missing && c.plan.Sent() > 1 {
		return nil
	}
	if !rest.Lost(err) {
		return err
	}
	if _, look := b.byID(ctx, c); errors.Is(look, smol.ErrNotFound) {
		return nil
	}
	return err
}

// deleteBranches deletes what descends from the machine, the youngest first. A service without lineage has nothing to say.
func (b *Backend) deleteBranches(ctx context.Context, id string) error {
	var line cloudwire.Lineage
	err := b.ask(ctx, opLineage, id, &line)
	if errors.Is(err, smol.ErrNotFound) || errors.Is(err, errors.ErrUnsupported) {
		return nil // what is wrong with the machine itself shows next
	}
	if err != nil {
		return err
	}
	for _, child := range slices.Backward(descendants(id, line.Machines)) {
		if err := b.Delete(ctx, child, nil); err != nil && !errors.Is(err, smol.ErrNotFound) {
			return err
		}
	}
	return nil
}

// descendants returns the ids of the machines that come from id, parents before their children. What the service says may be a circle.
func descendants(id string, all []cloudwire.MachineInfo) []string {
	line := []string{id}
	for i := 0; i < len(line); i++ {
		for j := range all {
			if m := &all[j]; m.ParentMachineID == line[i] && m.ID != "" && m.State != cloudwire.StateDeleted && !slices.Contains(line, m.ID) {
				line = append(line, m.ID)
			}
		}
	}
	return line[1:]
}
