package local

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// adoptTime bounds the command of adopt, which does nothing; booting and pulling come on top.
	adoptTime = 30 * time.Second
	// settleTries is how often the service is asked what became of a lost stop: its supervisor looks every five seconds.
	settleTries = 15
)

// Start implements [smol.Backend]. When the answer is lost, or the service says that an earlier start still holds the machine, it
// finds out what became of it; see [Backend.adopt].
func (b *Backend) Start(ctx context.Context, id string, opts *smol.StartOptions) (*smol.Info, error) {
	const op = "start"
	r, err := request(op, http.MethodPost, id, "/start")
	if err != nil {
		return nil, err
	}
	// A body of {} is what every release takes; none at all, with this content type, fails before 1.21.
	var body localwire.StartMachineRequest
	if opts != nil {
		if (opts.RegistryUser == "") != (opts.RegistryPassword == "") {
			return nil, rest.Describe(rest.Invalid("StartOptions.RegistryUser", "and RegistryPassword go together"), op, id)
		}
		if opts.RegistryUser != "" {
			body.RegistryAuth = &localwire.RegistryAuth{Username: opts.RegistryUser, Password: opts.RegistryPassword}
		}
		if opts.Branchable {
			if r.Query, err = b.branchableQuery(ctx); err != nil {
				return nil, rest.Describe(err, op, id)
			}
		}
	}
	info, adopted, err := b.start(ctx, r, &body)
	if adopted && err == nil && opts != nil && opts.Branchable && !info.Branchable {
		return b.startBranchable(ctx, r, &body)
	}
	return info, err
}

// start sends the request. It reports whether it was a command that made the machine run in the end.
func (b *Backend) start(ctx context.Context, r *rest.Request, body *localwire.StartMachineRequest) (info *smol.Info, adopted bool, err error) {
	info, err = b.machine(ctx, r, body)
	if e, ok := rest.Answer(err, http.StatusInternalServerError); rest.Lost(err) || ok && strings.Contains(e.Message, "already starting or running this VM") {
		return b.adopt(ctx, r.Op, r.Machine, err)
	}
	return info, false, err
}

// startBranchable starts a machine anew that a command has booted, which knows nothing of branches. Nothing runs in it yet. If it does not
// come up as a source of branches this time either, it is stopped.
func (b *Backend) startBranchable(ctx context.Context, r *rest.Request, body *localwire.StartMachineRequest) (*smol.Info, error) {
	if _, err := b.Stop(ctx, r.Machine, nil); err != nil {
		return nil, rest.Describe(err, r.Op, r.Machine)
	}
	info, adopted, err := b.start(ctx, r, body)
	if err != nil || info.Branchable || !adopted {
		return info, err
	}
	_, err = b.Stop(ctx, r.Machine, nil)
	return nil, rest.Describe(&smol.Error{
		Code: smol.CodeConflict, Message: "the start was cut off twice, and the machine came up without being a source of branches", Err: err,
		Hint: "give it more time, since its image may be large; then start it with StartOptions.Branchable",
	}, r.Op, r.Machine)
}

// branchableQuery returns how this release calls a start that makes a source of branches. It has one field under two names, and both at
// once are a duplicate to some releases.
func (b *Backend) branchableQuery(ctx context.Context) (string, error) {
	h, err := b.Health(ctx)
	if err != nil {
		return "", err
	}
	if atLeast(h.Version, 1, 14) {
		return "branchable=true", nil
	}
	return "forkable=true", nil
}

// atLeast reports whether version is that release or a later one; false for a version that it cannot read.
func atLeast(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	m, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	return err1 == nil && err2 == nil && (m > major || m == major && n >= minor)
}

// adopt deals with a start whose answer was lost. If that happened while the image was pulled, the machine runs and the service says
// that it does not: stop then does nothing, delete fails, and another start kills it. A command is the way out: the service takes the
// machine that runs for its own, or boots it if none does, which is what was asked for anyway. Commands do harm to a machine in any other
// state, so it is asked for first. The error is why, if the machine does not run in the end; adopted reports whether a command was needed.
func (b *Backend) adopt(ctx context.Context, op, id string, why error) (info *smol.Info, adopted bool, err error) {
	info, err = b.Inspect(ctx, id)
	if err == nil && info.State == smol.StateStopped {
		adopted = true
		// Its outcome does not matter: a machine without this program is adopted as well.
		_, _ = b.Exec(ctx, id, &smol.ExecRequest{Argv: []string{"true"}, Timeout: adoptTime})
		info, err = b.Inspect(ctx, id)
	}
	switch {
	case err == nil && info.State == smol.StateRunning:
		return info, adopted, nil
	case ctx.Err() != nil:
		return nil, false, (&rest.Request{Op: op, Machine: id}).Broken(ctx, why)
	}
	return nil, false, why
}

// Stop implements [smol.Backend]. When the answer is lost it waits until the service has noticed that the machine went down, which
// takes some seconds.
func (b *Backend) Stop(ctx context.Context, id string, _ *smol.StopOptions) (*smol.Info, error) {
	r, err := request("stop", http.MethodPost, id, "/stop")
	if err != nil {
		return nil, err
	}
	info, err := b.machine(ctx, r, nil)
	if !rest.Lost(err) {
		return info, err
	}
	for range settleTries {
		if now, lookErr := b.Inspect(ctx, id); lookErr == nil && now.State == smol.StateStopped {
			return now, nil
		}
		if pace.Wait(ctx, b.pauses.settle) != nil {
			return nil, r.Broken(ctx, err)
		}
	}
	return nil, err
}

// Delete implements [smol.Backend]. When the answer is lost it looks whether the machine is still there. It does not ask again by
// itself: by then the name could be another machine's.
func (b *Backend) Delete(ctx context.Context, id string, opts *smol.DeleteOptions) error {
	r, err := request("delete", http.MethodDelete, id, "")
	if err != nil {
		return err
	}
	if opts != nil && opts.Cascade {
		r.Query = "cascade=true"
	}
	err = b.delete(ctx, r)
	if e, ok := rest.Answer(err, http.StatusInternalServerError); ok && strings.Contains(e.Message, "(pid unknown) is still alive") {
		// A start that was cut off left it running behind the service's back. The service has refused and removed nothing.
		if _, _, err := b.adopt(ctx, "delete", id, e); err != nil {
			return err
		}
		return b.delete(ctx, r)
	}
	return err
}

func (b *Backend) delete(ctx context.Context, r *rest.Request) error {
	err := b.send(ctx, r, nil, nil)
	if !rest.Lost(err) {
		return err
	}
	_, look := b.Inspect(ctx, r.Machine)
	if errors.Is(look, smol.ErrNotFound) {
		return nil
	}
	var e *smol.Error
	if look == nil && errors.As(err, &e) {
		e.Hint = "the machine is still listed, though its process may be gone; delete it again"
	}
	return err
}
