package cloud

import (
	"context"
	"errors"
	"net/http"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// graceful is how many answers in a row may say that a machine which was asked to start is not starting yet.
	graceful = 4
	// patience is how many questions in a row may fail, each after its own tries, before a wait gives up.
	patience = 5
)

// errNeverStarted is the cause of an error about a machine that was not there when it was asked to start.
var errNeverStarted = errors.New("the machine was not there to be started")

// Start implements [smol.Backend]. It returns when the service says that the machine runs: it waits for a boot that goes on after the answer, and when
// the answer is lost it asks what became of the machine. A machine that fails to boot is a [*smol.StateError] with the service's reason, or has one in its chain.
func (b *Backend) Start(ctx context.Context, id string, opts *smol.StartOptions) (*smol.Info, error) {
	c, err := newCall(opStart, id)
	if err != nil {
		return nil, err
	}
	c.MayBeEmpty = true
	if opts != nil {
		if err := b.prepareStart(ctx, c, opts); err != nil {
			return nil, rest.Describe(err, c.Op, id)
		}
	}
	m, err := b.record(ctx, c, nil)
	e, refused := rest.Answer(err, http.StatusNotFound)
	switch {
	case refused:
		e.Hint = "it has been deleted; an ephemeral machine is, as soon as it is found stopped"
		e.Err = errNeverStarted
		return nil, e
	case err == nil && m.State.IsStarted():
		return b.whole(ctx, c, m)
	case err == nil || mayHaveStarted(err):
		return b.awaitStart(ctx, c, err)
	}
	return nil, err
}

// prepareStart checks the options and adds them to c.
func (b *Backend) prepareStart(ctx context.Context, c *call, opts *smol.StartOptions) error {
	if opts.RegistryUser != "" || opts.RegistryPassword != "" {
		return unsupported("StartOptions.RegistryUser", "way to pass on a registry's credentials", "push the image to a registry that the service can read")
	}
	if !opts.Branchable {
		return nil
	}
	var m cloudwire.MachineInfo
	if err := b.ask(ctx, opInspect, c.Machine, &m); err != nil {
		return err
	}
	if (m.Branchable != nil || m.Forkable != nil) && !m.CanBranch() {
		e := c.fail(smol.CodeConflict, "the machine was not created to be branched")
		e.Hint = branchableHint
		return e
	}
	c.Query = "forkable=true" // which services before 2026-09 need; later ones ignore it
	return nil
}

// mayHaveStarted reports whether after err the machine may be booting, or run: the answer was lost, a gateway gave up on it, or the
// service says that it cannot be started because it is already.
func mayHaveStarted(err error) bool {
	var e *smol.Error
	return errors.As(err, &e) && (e.Status == http.StatusConflict || e.Status >= http.StatusInternalServerError || rest.Lost(err))
}

// awaitStart asks for the machine until it runs or will not. why is the answer to the start if that was no success; it says more than the
// state of a machine that does not run.
func (b *Backend) awaitStart(ctx context.Context, c *call, why error) (*smol.Info, error) {
	every, idle, failures := pace.New(b.pauses.first, b.pauses.most), 0, 0
	for {
		info, err := b.byID(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil, c.Broken(ctx, context.Cause(ctx))
		case err != nil && passing(err) && failures < patience:
			failures++
		case errors.Is(err, smol.ErrNotFound):
			return nil, gone(err)
		case err != nil:
			return nil, err
		case info.State == smol.StateRunning:
			return info, nil
		case info.State == smol.StateStarting, info.State == smol.StateCreating:
			idle, failures = 0, 0
		case info.State == smol.StateStopped && idle < graceful:
			idle, failures = idle+1, 0
		case why != nil:
			return nil, why
		default:
			return nil, startFailure(c, info)
		}
		_ = every.Wait(ctx) // the end of ctx is seen by the next question
	}
}

// passing reports whether a question may be answered soon although this one failed.
func passing(err error) bool {
	var e *smol.Error
	return errors.As(err, &e) && (e.Code == smol.CodeUnavailable || e.Code == smol.CodeInternal || e.Code == smol.CodeRateLimited || rest.Lost(err))
}

// gone explains that a machine which was starting is not there.
func gone(err error) error {
	if e, ok := rest.Answer(err, http.StatusNotFound); ok {
		e.Hint = "it was deleted while it started; an ephemeral machine is deleted once it stops"
	}
	return err
}

// startFailure is the end of a boot that led nowhere.
func startFailure(c *call, info *smol.Info) error {
	e := &smol.StateError{Op: c.Op, Machine: c.Machine, Want: smol.StateRunning, Got: info.State, Reason: info.Reason}
	switch info.State {
	case smol.StateFailed:
		said := smol.Error{Op: c.Op, Message: info.Reason}
		rest.Interpret(&said, meanings)
		e.Hint = said.Hint
		if said.Code == smol.CodeNotFound { // the image
			said.Machine, said.Err = c.Machine, e
			return &said
		}
	case smol.StateStopped:
		e.Hint = "its workload has ended; see Spec.Command and the logs"
	}
	return e
}

// Stop implements [smol.Backend]. It returns when the machine does not run. An ephemeral machine is deleted by that, which its state then tells.
func (b *Backend) Stop(ctx context.Context, id string, _ *smol.StopOptions) (*smol.Info, error) {
	c, err := newCall(opStop, id)
	if err != nil {
		return nil, err
	}
	c.MayBeEmpty = true
	m, err := b.record(ctx, c, nil)
	_, missing := rest.Answer(err, http.StatusNotFound)
	_, conflict := rest.Answer(err, http.StatusConflict)
	switch {
	case err == nil && m.ID != "" && m.State == cloudwire.StateStopped:
		return infoOf(m), nil
	case missing && c.plan.Sent() > 1:
		return deleted(c), nil
	case err != nil && !conflict && !rest.Lost(err):
		return nil, err
	}
	return b.awaitStop(ctx, c, err)
}

// deleted is what is left to say of a machine that a stop has deleted.
func deleted(c *call) *smol.Info { return &smol.Info{ID: c.Machine, State: smol.StateDeleted} }

// awaitStop asks for the machine until it does not run. why is the answer to the stop if that was no success.
func (b *Backend) awaitStop(ctx context.Context, c *call, why error) (*smol.Info, error) {
	every, running, failures := pace.New(b.pauses.first, b.pauses.most), 0, 0
	for {
		info, err := b.byID(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil, c.Broken(ctx, context.Cause(ctx))
		case err != nil && passing(err) && failures < patience:
			failures++
		case errors.Is(err, smol.ErrNotFound) && why == nil:
			return deleted(c), nil
		case err != nil:
			return nil, err
		case info.State == smol.StateStopped, info.State == smol.StateFailed, info.State == smol.StateDeleted:
			return info, nil
		case why != nil && running == graceful:
			return nil, why
		default:
			running, failures = running+1, 0
		}
		_ = every.Wait(ctx) // the end of ctx is seen by the next question
	}
}
