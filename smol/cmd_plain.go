package smol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

// noRunner is what is lost when a command has to go over the fleet's own wire.
const noRunner = "the command dies with the connection, its output comes only at its end, " +
	"and it cannot be sent a signal or killed when the context ends"

// needsPlain reports whether err says that the runner cannot run in the machine, and so has not run the command.
func needsPlain(err error) bool {
	return errors.Is(err, guest.ErrNoShell) || errors.Is(err, guest.ErrNoBase)
}

// runPlain runs the command without the runner.
func (r *run) runPlain(why error) error {
	r.plain = true
	r.mu.Lock()
	r.sent = false // there is nothing that a signal could reach
	r.mu.Unlock()
	if r.stdin != nil {
		return r.noStdin(why)
	}
	close(r.begun)
	var res *ExecResult
	began := time.Now()
	err := r.m.inPlace(r.ctx, limit.Ordinary, func(ctx context.Context, id string) (err error) {
		env, dir := r.m.guest.defaults()
		res, err = r.m.fleet.backend.Exec(ctx, id, &ExecRequest{
			Argv: r.args, Env: append(env, r.start.Env...), Dir: orElse(r.start.Dir, dir), User: r.user, Timeout: r.start.Timeout,
		})
		return err
	}, r.m.prepare)
	if err != nil {
		if r.ctx.Err() != nil {
			err = fmt.Errorf("%w; the command may still run: %w", cause(r.ctx), why)
		}
		return err
	}
	r.end()
	state := &CmdState{
		ExitCode: res.ExitCode, Duration: time.Since(began), Missing: plainText(why) + ": " + noRunner,
	}
	state.TimedOut = r.start.Timeout > 0 && res.ExitCode == timedOutCode && state.Duration >= r.start.Timeout
	if r.merged {
		r.err = newSink(r.stdout)
	}
	for _, s := range []struct {
		*sink
		data []byte
	}{{r.out, res.Stdout}, {r.err, res.Stderr}} {
		if err := s.accept(r.ctx, &guest.Part{Data: s.data}, int64(len(s.data))); err != nil {
			return err
		}
	}
	return r.conclude(state)
}

// noStdin says why a command with input cannot run without the runner.
func (r *run) noStdin(why error) error {
	return &Error{
		Code: CodeUnsupported, Err: why, Message: "Cmd.Stdin needs a shell in the machine: " + plainText(why),
		Hint: "put the input into a file and name it in the command's arguments, or use an image with a shell",
	}
}
