package smol

import (
	"context"
	"errors"
	"time"
)

// awakeSlack is how much longer than it may wait in the machine a call takes before the machine's state is looked at.
const awakeSlack = 2 * time.Second

// execAwake is an exec that waits so long in the machine. A machine that is frozen meanwhile answers when it is stopped, or never: then the call
// ends with the [*StateError] that it would have met a moment later.
func (m *Machine) execAwake(ctx context.Context, id string, wait time.Duration, req *ExecRequest) (*ExecResult, error) {
	req.Timeout = m.fleet.execTimeout(wait)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	t := time.AfterFunc(wait+awakeSlack, func() {
		defer close(watched)
		m.watchState(ctx, cancel)
	})
	res, err := m.fleet.backend.Exec(ctx, id, req)
	if t.Stop() {
		return res, err
	}
	var asleep *StateError
	if err != nil && errors.As(context.Cause(ctx), &asleep) {
		err = asleep
	}
	cancel(nil)
	<-watched
	return res, err
}

// watchState looks at the machine's state until ctx ends, and ends it once the machine is in one in which no command goes on by itself. The looks of
// several calls are one request.
func (m *Machine) watchState(ctx context.Context, cancel context.CancelCauseFunc) {
	pause := newPause(500*time.Millisecond, 4*time.Second)
	for {
		if info, err := m.check(ctx); err == nil {
			if err := m.refuse(info); err != nil && !bearable(err) {
				cancel(err)
				return
			}
		}
		if pause.wait(ctx) != nil {
			return
		}
	}
}
