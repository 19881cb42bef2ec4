package smol

import (
	"context"
	"maps"
	"slices"
)

// Branch makes a running copy of the machine under the name child, with its memory and disks: the processes in it go on in
// both. It returns once a command has run in the copy; see [BranchOptions.Unready]. If that fails, or ctx ends, the copy is deleted. Services before 1.17 freeze
// the source: it takes no commands any more, only further branches. The stand-in copies disks and no memory.
//
// The machine must run, or be frozen as the base of earlier branches, and have been started branchable ([Spec.Branchable], [StartOptions]), else the error matches
// [ErrConflict] and its hint says what to do. A fleet, a platform or a version that cannot branch is an error that matches
// errors.ErrUnsupported. A name that is taken matches [ErrExists].
func (m *Machine) Branch(ctx context.Context, child string, opts *BranchOptions) (*Machine, error) {
	c, err := m.branch(ctx, child, opts)
	return c, wrapError("branch", m.Name(), err)
}

func (m *Machine) branch(ctx context.Context, child string, opts *BranchOptions) (*Machine, error) {
	if err := validateName("child", child); err != nil {
		return nil, err
	}
	o := opts.clone()
	if err := validatePorts("BranchOptions.Ports", o.Ports); err != nil {
		return nil, err
	}
	if err := validateLabels("BranchOptions.Labels", o.Labels); err != nil {
		return nil, err
	}
	b, ok := find[BranchBackend](m.fleet.backend)
	if !ok {
		return nil, m.fleet.unsupported("branch", m.Name(), "branches", "create another machine and copy the files into it")
	}
	id, err := m.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.requireBranchable(ctx); err != nil {
		return nil, err
	}
	c, err := m.fleet.make(ctx, child, false, func() (*Info, error) { return b.Branch(ctx, id, child, o) })
	if err != nil {
		return nil, err
	}
	c.guest.env, c.guest.dir = m.guest.env, m.guest.dir
	if o.Unready {
		return c, nil
	}
	return c.keepIf(ctx, "branch", func() error { return c.waitReady(ctx, "branch", nil, c.probe) })
}

// requireBranchable lets a branch through of a machine that runs, or that an earlier branch has frozen: that one makes further branches.
func (m *Machine) requireBranchable(ctx context.Context) error {
	info, err := m.check(ctx)
	if err != nil || info.State == StateRunning || info.State == StateFrozen {
		return err
	}
	return m.refuse(info)
}

func (o *BranchOptions) clone() *BranchOptions {
	if o == nil {
		return &BranchOptions{}
	}
	c := *o
	c.Ports, c.Labels = slices.Clone(o.Ports), maps.Clone(o.Labels)
	return &c
}
