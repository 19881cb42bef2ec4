package local

import "context"

// step does one blocking step of a call. If ctx ends first the call is abandoned: step returns errAbandoned, the step runs to its end in the
// background, and late, which may be nil, gets what came of it. The steps after it never happen.
func step[T any](s *Server, ctx context.Context, do func() (T, error), late func(T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome)
	s.background(func() {
		v, err := do()
		select {
		case done <- outcome{v, err}:
		case <-ctx.Done():
			if late != nil {
				late(v, err)
			}
		}
	})
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, errAbandoned
	}
}

// stepErr is step for work without a result.
func stepErr(s *Server, ctx context.Context, do func() error, late func(error)) error {
	_, err := step(s, ctx, func() (struct{}, error) { return struct{}{}, do() }, func(_ struct{}, err error) {
		if late != nil {
			late(err)
		}
	})
	return err
}
