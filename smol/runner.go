package smol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
	"github.com/smol-machines/smol-go/internal/randhex"
)

// execMargin is added to the time that a call may wait in the machine, for a limit of the exec that never cuts a reply.
const execMargin = time.Minute

// question is a request to the runner.
type question struct {
	user    string
	check   func(context.Context) error // prepare or requireRunning; nil: the state was checked just now
	sending func()                      // told before the request can have any effect
	dir     string                      // where it begins; empty: where the machine's commands do, which need not be there
	// build makes the request once the call has its place and the machine's mounts are known.
	build func(crowded bool) request
}

// request is one of the requests of package guest, with the bytes that have to be in the machine before it.
type request struct {
	argv  []string
	files []guest.File
	view  guest.View
	err   error
}

// ask sends a request to the runner and returns its reply.
func (m *Machine) ask(ctx context.Context, class limit.Class, q *question) (*guest.Reply, error) {
	var reply *guest.Reply
	err := m.inPlace(ctx, class, func(ctx context.Context, id string) error {
		req := q.build(m.crowded())
		if err, ok := req.err.(*Error); ok {
			return err
		}
		if req.err != nil {
			return &Error{Code: CodeInvalid, Message: plainText(req.err), Err: req.err}
		}
		for _, f := range req.files {
			if err := m.placeFile(ctx, id, f); err != nil {
				return err
			}
		}
		if q.sending != nil {
			q.sending()
		}
		res, err := m.execAwake(ctx, id, req.view.Wait, &ExecRequest{Argv: req.argv, Dir: q.dir, User: q.user})
		if err != nil {
			return shellError(err)
		}
		reply, err = guest.ParseReply(res.Stdout, req.view)
		if errors.Is(err, guest.ErrNoShell) {
			return noReply(res)
		}
		return err
	}, q.check)
	if err != nil {
		return nil, m.confirmNoShell(ctx, err)
	}
	return reply, nil
}

// execTimeout is the limit for a command of ours that waits so long in the machine.
func (f *Fleet) execTimeout(wait time.Duration) time.Duration {
	if limit := f.traits.MaxExec; limit > 0 {
		return min(wait+execMargin, limit)
	}
	return wait + execMargin
}

// placeFile puts a small file of ours into the machine, within the place that the caller holds.
func (m *Machine) placeFile(ctx context.Context, id string, f guest.File) error {
	b, ok := find[FileBackend](m.fleet.backend)
	if !ok {
		return m.fleet.unsupported("run", m.Name(), "way for arguments of that size", "put them into a file of the machine and name it")
	}
	return b.Upload(ctx, id, f.Path, bytes.NewReader(f.Data), int64(len(f.Data)))
}

// shellError finds in a fleet's error that there was no sh to run. A fleet whose machine answers so has run nothing.
func shellError(err error) error {
	var e *Error
	if errors.As(err, &e) && strings.Contains(e.Message, "failed to spawn command: No such file or directory") {
		return fmt.Errorf("%w: %w", guest.ErrNoShell, err)
	}
	return err
}

// noReply says what it means that a script of ours was answered with something else: that there is no sh, if the machine says so
// in one of the ways in which images do, and else that the reply cannot be used. Of a machine that has just booted, an exit
// without a word is known to mean nothing.
func noReply(res *ExecResult) error {
	said := strings.ToLower(string(res.Stderr))
	missing := strings.Contains(said, "not found") || strings.Contains(said, "no such file")
	if len(res.Stdout) == 0 && (res.ExitCode == 127 || res.ExitCode != 0 && missing) {
		return fmt.Errorf("%w (it said %.200q)", guest.ErrNoShell, res.Stderr)
	}
	return &Error{
		Code: CodeUnknown, Err: errGarbled,
		Message: fmt.Sprintf("the machine answered with exit code %d, %.200q and %.200q", res.ExitCode, res.Stdout, res.Stderr),
	}
}

// errGarbled is the cause of an error about a reply that is not the runner's.
var errGarbled = errors.New("the reply is not that of the library's script")

// confirmNoShell makes sure, once for a handle, that a machine that seems to have no shell has none: what was sent may have run
// if the reply was only garbled, and a command must not run twice.
func (m *Machine) confirmNoShell(ctx context.Context, err error) error {
	if !errors.Is(err, guest.ErrNoShell) || m.guest.shell() != nil {
		return err
	}
	probed := m.probe(ctx)
	switch {
	case errors.Is(probed, guest.ErrNoShell):
		m.guest.setNoShell(guest.ErrNoShell)
		return err
	case probed == nil:
		return &Error{
			Code: CodeUnknown, Message: "the machine's reply cannot be used: " + plainText(err), Err: errGarbled,
			Hint: "a directory of Spec.Dir that is not there makes commands fail; Machine.MkdirAll makes it",
		}
	}
	return probed
}

// setUp stores in the machine, which is known to run, what its commands are to see, and by that shows that commands run.
func (m *Machine) setUp(ctx context.Context) error {
	env, dir := m.guest.env, m.guest.dir
	if m.fleet.traits.KeepsEnv {
		env, dir = nil, ""
	}
	_, err := m.ask(ctx, limit.Short, &question{dir: "/", build: func(bool) request {
		argv, err := (&guest.Setup{Bases: m.bases(), Env: env, Dir: dir}).Command()
		return request{argv: argv, err: err}
	}})
	if errors.Is(err, guest.ErrNoShell) || errors.Is(err, guest.ErrNoBase) {
		return nil // commands run, as noShell says or each of them will say
	}
	return err
}

// probe runs, in a machine that is known to run, a command that answers with a word that cannot have come from elsewhere.
func (m *Machine) probe(ctx context.Context) error {
	word := "ready-" + randhex.String(8)
	var res *ExecResult
	err := m.inPlace(ctx, limit.Short, func(ctx context.Context, id string) (err error) {
		res, err = m.fleet.backend.Exec(ctx, id, &ExecRequest{Argv: []string{"sh", "-c", "echo " + word}, Dir: "/", Timeout: m.fleet.execTimeout(0)})
		return shellError(err)
	}, nil)
	if err != nil || string(res.Stdout) == word+"\n" {
		return err
	}
	return noReply(res)
}
