package smol

import (
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/limit"
)

const (
	// longWait is how long a call may wait in the machine for the end of a command, or for news of it.
	longWait = 5 * time.Second
	// crowdedWait is for a call that waits while others need its place.
	crowdedWait = 250 * time.Millisecond
	// budget is how much output of each stream a reply brings, and bulklessBudget that where the rest cannot come as a file. A service sends
	// it in base64 and once more as text, and its own limit is 11 MiB a stream.
	budget, bulklessBudget = 256 << 10, 1 << 20
	// patience is how long a command whose machine does not answer is asked after.
	patience = 30 * time.Second
	// idleLeast and idleMost bound the time between two polls that do not wait in the machine.
	idleLeast, idleMost = 100 * time.Millisecond, 2 * time.Second
	// newsEvery is how often a command that writes all the time is asked for news.
	newsEvery = 100 * time.Millisecond
	// starts is how often a command is sent at most. Sending it again does not run it again.
	starts = 3
)

// begin starts the command. When the reply is lost it asks for the command by its id, and sends it again only if the machine does not
// know it; whoever comes second with an id joins the first.
func (r *run) begin() (*guest.Reply, error) {
	acks := r.m.guest.takeAcks()
	r.start.Ack = acks
	for try := 1; ; try++ {
		left := false
		reply, err := r.m.ask(r.ctx, limit.Ordinary, &question{
			user: r.user, check: r.visit.enter, sending: func() { left = true; r.visit.arrived(); r.leave() },
			build: func(crowded bool) request {
				r.start.Bases = r.m.bases()
				r.start.View = r.view(startWait(r.patient, crowded))
				if try > 1 { // it may join itself, which gives the output from its beginning
					r.start.View.Stdout, r.start.View.Stderr = 0, 0
				}
				argv, files, err := r.start.Command()
				return request{argv, files, r.start.View, r.nameField(err)}
			},
		})
		if err == nil {
			return reply, nil
		}
		if !left {
			r.m.guest.giveBackAcks(acks)
		}
		if !left || !ambiguous(err) || r.ctx.Err() != nil {
			return nil, err
		}
		reply, findErr := r.poll(true)
		if findErr == nil {
			return reply, nil
		}
		if !errors.Is(findErr, guest.ErrNoJob) || try == starts {
			return nil, &Error{
				Code: codeOf(err), Err: errors.Join(err, findErr),
				Message: fmt.Sprintf("%s; and asking for the command: %s", plainText(err), plainText(findErr)),
			}
		}
	}
}

// nameField names what of the command cannot be sent as the caller knows it.
func (r *run) nameField(err error) error {
	var field *guest.FieldError
	if !errors.As(err, &field) {
		return err
	}
	name, n := "Cmd: "+field.Field, 0
	if _, err := fmt.Sscanf(field.Field, "argument %d", &n); err == nil {
		name = fmt.Sprintf("Cmd.Args[%d]", n-r.shift)
	}
	return &Error{Code: CodeInvalid, Message: name + ": " + plainText(field.Err), Err: err}
}

func startWait(patient, crowded bool) time.Duration {
	switch {
	case !patient:
		return 0
	case crowded:
		return crowdedWait
	}
	return longWait
}

// leave notes that the request to start the command is about to be sent.
func (r *run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = true
}

// view asks for the output that is still wanted.
func (r *run) view(wait time.Duration) guest.View {
	if r.watch != nil {
		v := r.watch.view(wait)
		r.hushed = v.Hush
		return v
	}
	v := guest.View{
		Stdout: r.out.next, Stderr: r.err.next, Wait: wait, News: !r.quiet && (r.out.streams() || r.err.streams()), Budget: budget,
	}
	if r.noBulk {
		v.Budget = bulklessBudget
	}
	return v
}

// poll asks after the command, at once if there is more to fetch. It bears with a machine that does not answer for a while.
func (r *run) poll(more bool) (*guest.Reply, error) {
	pause := newPause(100*time.Millisecond, 2*time.Second)
	var since time.Time
	for {
		reply, err := r.pollOnce(more)
		if err == nil {
			return reply, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		if r.ctx.Err() != nil || !bearable(err) || (!asleep(err) || r.watch != nil) && time.Since(since) > patience {
			return nil, r.explain(err)
		}
		if err := pause.wait(r.ctx); err != nil {
			return nil, err
		}
	}
}

func (r *run) pollOnce(more bool) (*guest.Reply, error) {
	class, wait := limit.Ordinary, longWait
	if !more {
		if err := sleep(r.ctx, newsEvery-time.Since(r.polled)); err != nil {
			return nil, err
		}
	}
	r.polled = time.Now()
	switch {
	case more:
		wait = 0
	case r.watch != nil && r.watch.left() == 0:
		class, wait = limit.Short, 0
	case r.m.crowded():
		// Whoever holds a place to wait keeps others from starting. Asking often costs less.
		if err := r.idle.wait(r.ctx); err != nil {
			return nil, err
		}
		class, wait = limit.Short, 0
	}
	reply, err := r.m.ask(r.ctx, class, &question{user: r.user, check: r.stay, build: func(crowded bool) request {
		if crowded {
			wait = min(wait, crowdedWait)
		}
		view := r.view(wait)
		argv, err := (&guest.Poll{ID: r.start.ID, Bases: r.m.bases(), View: view}).Command()
		return request{argv: argv, view: view, err: err}
	}})
	if err == nil && (len(reply.Stdout.Data) > 0 || len(reply.Stderr.Data) > 0) {
		r.idle = newPause(idleLeast, idleMost)
	}
	return reply, err
}

// bearable reports whether a later poll can succeed.
func bearable(err error) bool {
	var state *StateError
	if errors.As(err, &state) {
		return state.Got == StateCreating || state.Got == StateStarting || state.Got == StateUnreachable || asleep(err)
	}
	return transient(err)
}

// asleep reports whether the machine is saved with all that runs in it: the command goes on when the machine is resumed.
func asleep(err error) bool {
	var state *StateError
	return errors.As(err, &state) && (state.Got == StatePausing || state.Got == StatePaused)
}

// explain says what the failure of a poll means for the command.
func (r *run) explain(err error) error {
	var state *StateError
	var e *Error
	switch {
	case errors.As(err, &state):
		if died(err) {
			state.Reason = "the command died with the machine"
		}
	case isMissingMachine(err) && errors.As(err, &e) && e.Status != 0:
		return &Error{
			Code: e.Code, Status: e.Status, ServerCode: e.ServerCode, RequestID: e.RequestID, Err: err,
			Message: "the machine was deleted, and the command died with it: " + plainText(err),
		}
	case errors.As(err, &e) && transient(err):
		return &Error{
			Code: e.Code, Status: e.Status, RequestID: e.RequestID, Err: err, Hint: "the command may still run in the machine",
			Message: "the machine does not answer any more: " + plainText(err),
		}
	}
	return err
}
