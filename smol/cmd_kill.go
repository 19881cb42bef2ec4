package smol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

// killTime is how long the kill of a command is tried; Wait does not wait that long.
const killTime = 10 * time.Second

// killing is the kill of a command, which is done once.
type killing struct {
	done chan struct{}
	err  error
}

// kill kills the command if it was sent and has not ended. A command that is still on its way is kept from starting.
func (r *run) kill() {
	r.mu.Lock()
	if !r.sent || r.ended || r.killed != nil {
		r.mu.Unlock()
		return
	}
	k := &killing{done: make(chan struct{})}
	r.killed = k
	r.mu.Unlock()
	defer close(k.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), killTime)
	defer cancel()
	pause := newPause(20*time.Millisecond, time.Second)
	for {
		k.err = r.sendSignal(ctx, Kill, limit.Urgent)
		if k.err == nil || isMissingMachine(k.err) || died(k.err) {
			k.err = nil
			return
		}
		if !transient(k.err) || pause.wait(ctx) != nil {
			return
		}
	}
}

// fellToKill reports whether the command died of the kill, as opposed to having ended just before.
func (r *run) fellToKill() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.killed != nil && r.state != nil && r.state.Signal == Kill
}

// cancelled waits for the kill and returns the error of a run whose context has ended.
func (r *run) cancelled() error {
	r.kill() // the request may have left at the moment at which the context ended
	r.mu.Lock()
	k := r.killed
	r.mu.Unlock()
	if k != nil {
		<-k.done
		if k.err != nil {
			return fmt.Errorf("%w; the command may still run, since it could not be killed: %w", cause(r.ctx), k.err)
		}
		r.m.guest.ack(r.start.ID)
	}
	return cause(r.ctx)
}

// signal sends a signal on behalf of the caller.
func (r *run) signal(ctx context.Context, s Signal) error {
	r.mu.Lock()
	sent, ended := r.sent, r.ended
	r.mu.Unlock()
	switch {
	case ended || r.over():
		return &Error{Code: CodeConflict, Message: "the command has ended"}
	case !sent:
		return &Error{Code: CodeConflict, Message: "the command has not started yet"}
	}
	return r.sendSignal(ctx, s, limit.Urgent)
}

func (r *run) sendSignal(ctx context.Context, s Signal, class limit.Class) error {
	_, err := r.m.ask(ctx, class, &question{user: r.user, check: r.stay, build: func(bool) request {
		argv, err := (&guest.Signal{ID: r.start.ID, Bases: r.m.bases(), Signal: string(s)}).Command()
		return request{argv: argv, err: err}
	}})
	return err
}

// died reports whether err says that the machine is in a state in which no command of it lives.
func died(err error) bool {
	var state *StateError
	if !errors.As(err, &state) {
		return false
	}
	return state.Got == StateStopped || state.Got == StateFailed || state.Got == StateDeleted
}
