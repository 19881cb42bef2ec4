package smol

import (
	"context"
	"sync/atomic"
)

// visit is what several calls to one machine have in common: all of them must reach the machine that the first has reached, as it was
// then. Otherwise the rest of a Put would go into another machine that was given the name, or boot again one that was stopped. It costs
// no request, since each call asks for the machine's state anyway. The zero value, with a machine, has not reached it yet.
type visit struct {
	m    *Machine
	seen *Info                // by the check of the first call
	met  atomic.Pointer[Info] // by the first call; signals look at it too
}

// enter is a check for [Machine.inPlace]: the first call boots the machine if it must, later ones do not.
func (v *visit) enter(ctx context.Context) (err error) {
	if v.met.Load() == nil {
		v.seen, err = v.m.letIn(ctx)
		return err
	}
	return v.stay(ctx, true)
}

// stay is a check that boots nothing. With boot, a machine that was started anew is another one.
func (v *visit) stay(ctx context.Context, boot bool) error {
	info, err := v.m.running(ctx)
	met := v.met.Load()
	if err != nil || met == nil {
		return err
	}
	return compare(met, info, boot)
}

// arrived notes that the call that was let in has reached the machine, or may have.
func (v *visit) arrived() {
	v.met.CompareAndSwap(nil, v.seen)
}

// compare returns an error if the machine that is there now is not the one that was. A service may tell whole seconds, and no process.
func compare(was, now *Info, boot bool) error {
	switch {
	case now.ID != was.ID || !now.CreatedAt.Equal(was.CreatedAt):
		return &Error{
			Code: CodeNotFound, Message: "the machine that this began in is gone, and another one has its name",
			Hint: "nothing more was sent; if that one is meant, do it again",
		}
	case boot && now.PID != was.PID && now.PID != 0 && was.PID != 0:
		return &Error{
			Code: CodeConflict, Message: "the machine was started anew, or is another one, since this began",
			Hint: "nothing more was sent; do it again",
		}
	}
	return nil
}
