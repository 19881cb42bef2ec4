package smol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

const (
	readyTimeout = 2 * time.Minute
	// probeTimeout bounds one try: a machine that has just booted can swallow a call.
	probeTimeout = 10 * time.Second
)

// WaitReady returns nil once a command has run in the machine. It boots nothing: a machine that is stopped, failed, frozen
// or paused ends the wait with a [*StateError], as one that is deleted does with [ErrNotFound]. When the time is up it
// returns an error that matches context.DeadlineExceeded and names the state seen last.
func (m *Machine) WaitReady(ctx context.Context, opts *WaitOptions) error {
	return wrapError("wait", m.Name(), m.waitReady(ctx, "wait", opts, m.probe))
}

// waitReady runs probe until it succeeds.
func (m *Machine) waitReady(ctx context.Context, op string, opts *WaitOptions, probe func(context.Context) error) error {
	if opts == nil {
		opts = &WaitOptions{}
	}
	if err := notNegative("WaitOptions.Timeout", int64(opts.Timeout)); err != nil {
		return err
	}
	timeout := opts.Timeout
	if timeout == 0 {
		timeout = readyTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	w := &readyWait{m: m, onState: opts.OnState, probe: probe}
	pause := newPause(20*time.Millisecond, time.Second)
	for {
		ready, err := w.try(limited)
		switch {
		case ready:
			return nil
		case ctx.Err() != nil:
			return &contextError{op, m.Name(), cause(ctx)}
		case limited.Err() != nil:
			return w.timedOut(op, timeout)
		case err != nil:
			return err
		}
		// An end of the pause is seen after the next try.
		_ = pause.wait(limited)
	}
}

// readyWait is one wait and what it has seen.
type readyWait struct {
	m       *Machine
	onState func(State)
	probe   func(context.Context) error

	state State
	last  error // why the latest try failed
}

// try asks once. An error is the end of the wait.
func (w *readyWait) try(ctx context.Context) (ready bool, err error) {
	info, err := w.m.check(ctx)
	if err != nil {
		return false, w.failed(err)
	}
	if info.State != w.state {
		w.state = info.State
		if w.onState != nil {
			w.onState(info.State)
		}
	}
	switch info.State {
	case StateCreating, StateStarting, StateUnreachable:
		return false, nil
	case StateStopped, StatePausing, StatePaused, StateFrozen, StateFailed, StateDeleted:
		return false, w.m.refuse(info)
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// A machine without a shell has taken a command and said so.
	if err := w.probe(limited); err != nil && !errors.Is(err, guest.ErrNoShell) {
		return false, w.failed(err)
	}
	return true, nil
}

// failed remembers err and returns it if another try cannot end better.
func (w *readyWait) failed(err error) error {
	if !isContextError(err) { // which would only say that the time was up
		w.last = err
	}
	if transient(err) {
		return nil
	}
	var state *StateError
	if errors.As(err, &state) && (state.Got == StateCreating || state.Got == StateStarting || state.Got == StateUnreachable) {
		return nil
	}
	return err
}

func (w *readyWait) timedOut(op string, timeout time.Duration) error {
	text := "no state was seen"
	if w.state != "" {
		text = fmt.Sprintf("last seen %s", w.state)
	}
	if w.last != nil {
		text += ", " + plainText(w.last)
	}
	return &contextError{op, w.m.Name(), fmt.Errorf("not ready after %v, %s: %w", timeout, text, context.DeadlineExceeded)}
}
