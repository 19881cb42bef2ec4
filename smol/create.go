package smol

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/randhex"
)

// CreateOptions are the knobs of [Fleet.Create]. Nil and the zero value wait two minutes for the first command.
type CreateOptions struct {
	// ReadyTimeout bounds the wait for the first command, counted from when the fleet says that the machine runs. Zero: 2
	// minutes.
	ReadyTimeout time.Duration
	// OnState is called when the observed state changes during that wait. Nil: nobody is told.
	OnState func(State)
	// RegistryUser and RegistryPassword are used to pull the image and are not kept.
	RegistryUser, RegistryPassword string
	// Stopped leaves the machine stopped: its first [Machine.Start] boots it. Where the fleet does not keep [Spec.Env] and [Spec.Dir]
	// itself, a machine that has them is booted once to store them, and stopped.
	Stopped bool
}

// Create makes a machine, boots it and returns once a command has run in it; see [CreateOptions.Stopped] for one that is not booted.
//
// When it fails, or ctx ends, after the machine came to exist, it deletes the machine and reports why it failed, and also
// why the machine could not be deleted if that failed too. When the fleet's answer is lost it looks for the machine by
// name, and goes on if it is there; it never asks for a second one. A name that is taken is an error matching
// [ErrExists], and the machine that has it is left alone. An image that is not there matches [ErrNotFound].
//
// Spec.Env and Spec.Dir reach every command that goes through [Cmd], also from other handles and programs. In a machine without a
// shell they cannot be stored and reach only commands of the returned handle.
func (f *Fleet) Create(ctx context.Context, spec Spec, opts *CreateOptions) (*Machine, error) {
	if err := spec.Validate(); err != nil {
		return nil, wrapError("create", "", err)
	}
	if opts == nil {
		opts = &CreateOptions{}
	}
	spec = spec.clone()
	if err := f.storable(&spec); err != nil {
		return nil, wrapError("create", "", err)
	}
	generated := spec.Name == ""
	if generated {
		spec.Name = "smol-" + randhex.String(6)
	}
	m, err := f.make(ctx, spec.Name, generated, func() (*Info, error) { return f.backend.Create(ctx, &spec) })
	if err != nil {
		return nil, wrapError("create", spec.Name, err)
	}
	m.guest.env, m.guest.dir = spec.Env, spec.Dir
	return m.keepIf(ctx, "create", func() error {
		if !opts.Stopped {
			return m.bringUp(ctx, &spec, opts)
		}
		return m.putAway(ctx, &spec, opts)
	})
}

// putAway leaves a machine that was just created stopped, with what commands are to see stored in it.
func (m *Machine) putAway(ctx context.Context, spec *Spec, opts *CreateOptions) error {
	if !m.fleet.traits.KeepsEnv && (len(spec.Env) > 0 || spec.Dir != "") {
		if err := m.bringUp(ctx, spec, opts); err != nil {
			return err
		}
	} else if m.observed() != StateRunning {
		return nil
	}
	return m.Stop(ctx, nil)
}

// storable reports what of the environment cannot be stored in a machine, before there is one.
func (f *Fleet) storable(spec *Spec) error {
	if f.traits.KeepsEnv {
		return nil
	}
	_, err := (&guest.Setup{Bases: []string{guest.BaseFallback}, Env: spec.Env, Dir: spec.Dir}).Command()
	if err != nil {
		return &Error{Code: CodeInvalid, Message: "Spec.Env or Spec.Dir cannot be stored in the machine: " + err.Error(), Err: err}
	}
	return nil
}

// keepIf returns m if fn succeeds. Otherwise, also when fn panics, it deletes the machine.
func (m *Machine) keepIf(ctx context.Context, op string, fn func() error) (_ *Machine, err error) {
	kept := false
	defer func() {
		if !kept {
			err = m.abandon(ctx, op, err)
		}
	}()
	if err := fn(); err != nil {
		return nil, err
	}
	kept = true
	return m, nil
}

// abandon deletes a machine that came to exist although what it was made for failed with err.
func (m *Machine) abandon(ctx context.Context, op string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	del := inTime(m.discard(ctx), cleanupTime)
	if del == nil {
		return wrapError(op, m.Name(), err)
	}
	return &Error{
		Op: op, Machine: m.Name(), Code: codeOf(del), Err: errors.Join(err, del),
		Message: fmt.Sprintf("%s; and it could not be deleted: %s", plainText(err), plainText(del)),
		Hint:    "delete the machine yourself; it still exists",
	}
}

// make runs create, which makes the machine of that name, and finds out what became of it when create fails without a clear answer. A
// generated name cannot be anybody else's.
func (f *Fleet) make(ctx context.Context, name string, generated bool, create func() (*Info, error)) (*Machine, error) {
	began := time.Now()
	info, err := create()
	if err == nil {
		return f.handle(info), nil
	}
	if !ambiguous(err) {
		return nil, err
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	info, lookErr := f.lookFor(look, name)
	lookErr = inTime(lookErr, cleanupTime)
	switch {
	case isMissingMachine(lookErr):
		return nil, err
	case lookErr != nil:
		return nil, &Error{
			Code: codeOf(err), Err: errors.Join(err, lookErr),
			Message: fmt.Sprintf("%s; and whether the machine exists could not be found out: %s", plainText(err), plainText(lookErr)),
			Hint:    "look for the machine by its name, and delete it if it is not wanted",
		}
	case !generated && !f.made(look, info, began):
		return nil, &Error{
			Code: CodeExists, Err: err,
			Message: plainText(err) + "; there is a machine of that name, which was made before",
		}
	}
	m := f.handle(info)
	if ctx.Err() != nil {
		return nil, m.abandon(ctx, "create", err)
	}
	return m, nil
}

// made reports whether a machine, found after the answer to a create was lost, is the one that was asked for at began.
func (f *Fleet) made(ctx context.Context, info *Info, began time.Time) bool {
	if b, ok := find[OriginBackend](f.backend); ok {
		if made, known, err := b.MadeSince(ctx, info.ID, began); known && err == nil {
			return made
		}
	}
	return !info.CreatedAt.Before(began.Truncate(time.Second)) // services tell whole seconds
}

// lookFor asks for a machine that may be about to appear. It takes "not found" for an answer after having heard it a few times.
func (f *Fleet) lookFor(ctx context.Context, name string) (*Info, error) {
	pause := newPause(100*time.Millisecond, time.Second)
	missing := 0
	for {
		info, err := f.backend.Inspect(ctx, name)
		if err == nil {
			return info, nil
		}
		if isMissingMachine(err) {
			missing++
		}
		if missing == 5 || !isMissingMachine(err) && !transient(err) {
			return nil, err
		}
		if ended := pause.wait(ctx); ended != nil {
			return nil, err
		}
	}
}

// bringUp boots a machine that was just created, and stores in it what commands are to see.
func (m *Machine) bringUp(ctx context.Context, spec *Spec, opts *CreateOptions) error {
	if m.observed() != StateRunning {
		start := &StartOptions{
			Branchable: spec.Branchable, RegistryUser: opts.RegistryUser, RegistryPassword: opts.RegistryPassword,
		}
		if err := m.boot(ctx, start); err != nil {
			return nameImage(err, spec.Image)
		}
	}
	wait := &WaitOptions{Timeout: opts.ReadyTimeout, OnState: opts.OnState}
	return m.waitReady(ctx, "create", wait, m.setUp)
}

// boot starts the machine. When the answer is lost it asks whether it runs.
func (m *Machine) boot(ctx context.Context, opts *StartOptions) error {
	info, err := m.fleet.backend.Start(ctx, m.ID(), opts)
	if ambiguous(err) && ctx.Err() == nil {
		if now, lookErr := m.inspect(ctx); lookErr == nil && now.State == StateRunning {
			return nil
		}
	}
	if err == nil {
		m.observe(info)
	}
	return err
}

// clone copies s, so that its owner may go on writing it.
func (s *Spec) clone() Spec {
	c := *s
	c.Command = slices.Clone(s.Command)
	c.Env = maps.Clone(s.Env)
	c.Network.AllowHosts = slices.Clone(s.Network.AllowHosts)
	c.Network.AllowCIDRs = slices.Clone(s.Network.AllowCIDRs)
	c.Ports = slices.Clone(s.Ports)
	c.Mounts = slices.Clone(s.Mounts)
	c.Labels = maps.Clone(s.Labels)
	return c
}
