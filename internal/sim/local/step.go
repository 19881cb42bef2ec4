package local

import (
	"context"

	"github.com/smol-machines/smol-go/internal/sim/task"
)

// stepErr is [task.Step] for work without a result.
func stepErr(s *Server, ctx context.Context, do func() error, late func(error)) error {
	_, err := task.Step(ctx, s.tasks, func() (struct{}, error) { return struct{}{}, do() }, func(_ struct{}, err error) {
		if late != nil {
			late(err)
		}
	})
	return err
}
