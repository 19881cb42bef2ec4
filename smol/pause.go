package smol

import (
	"context"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
)

// pause is a wait between tries whose errors are those of [cause].
type pause struct{ *pace.Pace }

func newPause(least, most time.Duration) *pause { return &pause{pace.New(least, most)} }

// wait waits, or returns the cause of ctx if that ends first.
func (p *pause) wait(ctx context.Context) error {
	if p.Wait(ctx) != nil {
		return cause(ctx)
	}
	return nil
}

// sleep waits for so long, or returns the cause of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if pace.Wait(ctx, d) != nil {
		return cause(ctx)
	}
	return nil
}
