package cloud

import (
	"context"
	"errors"
	"net/http"

	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// Branch implements [smol.BranchBackend]. The source must have been created branchable; it runs on. The branch has its disks and memory, and its labels
// unless BranchOptions.Labels gives others.
func (b *Backend) Branch(ctx context.Context, id, child string, opts *smol.BranchOptions) (*smol.Info, error) {
	c, err := newCall(opBranch, id)
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &smol.BranchOptions{}
	}
	if err := checkBranch(child, opts); err != nil {
		return nil, rest.Describe(err, c.Op, id)
	}
	labels, err := b.branchLabels(ctx, c, opts)
	if err != nil {
		return nil, err
	}
	body := &cloudwire.BranchRequest{Name: child, Ports: wirePorts(opts.Ports), Branchable: opts.Branchable, Labels: labels}
	m, err := b.record(ctx, c, body)
	if e, ok := rest.Answer(err, http.StatusNotFound); ok && !saysMachine(e) {
		m, err = b.fork(ctx, id, body, err)
	}
	if err != nil {
		return nil, err
	}
	if m.ID == "" {
		return nil, c.fail(smol.CodeUnknown, "the reply describes no machine")
	}
	return infoOf(m), nil
}

// fork sends a branch to services before 2026-09, which call it so. missing is what the newer route answered.
func (b *Backend) fork(ctx context.Context, id string, body *cloudwire.BranchRequest, missing error) (*cloudwire.MachineInfo, error) {
	c, err := newCall(opFork, id)
	if err != nil {
		return nil, err
	}
	old := *body
	old.Branchable, old.Forkable = false, body.Branchable
	m, err := b.record(ctx, c, &old)
	if e, ok := rest.Answer(err, http.StatusNotFound); !ok || saysMachine(e) {
		return m, err
	}
	if _, look := b.byID(ctx, c); look != nil {
		return nil, look
	}
	e := c.fail(smol.CodeUnsupported, "this service cannot branch")
	e.Hint, e.Err = "create another machine and copy the files into it", errors.Join(errors.ErrUnsupported, missing)
	return nil, e
}

// checkBranch holds the service's rules.
func checkBranch(child string, opts *smol.BranchOptions) error {
	spec := &smol.Spec{Name: child, Ports: opts.Ports}
	if err := spec.Validate(); err != nil {
		return err
	}
	switch {
	case child == "":
		return rest.Invalid("child", "is empty; it is the name of the branch")
	case len(child) > maxName:
		return rest.Invalid("child", "has %d bytes; the cloud fleet allows %d", len(child), maxName)
	}
	if err := checkPorts("BranchOptions.Ports", opts.Ports); err != nil {
		return err
	}
	return checkLabelMap("BranchOptions.Labels", opts.Labels)
}

// branchLabels returns the labels of a branch, with the mark of this client. Those of the source are asked for: to leave them out would take over
// its mark.
func (b *Backend) branchLabels(ctx context.Context, c *call, opts *smol.BranchOptions) (map[string]string, error) {
	if opts.Labels != nil {
		return b.origin.mark(opts.Labels), nil
	}
	source, err := b.byID(ctx, c)
	if err != nil {
		return nil, err
	}
	return b.origin.mark(source.Labels), nil
}
