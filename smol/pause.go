package smol

import (
	"context"
	"math/rand/v2"
	"time"
)

// pause is a wait between tries that grows by half from the least to the most, with jitter.
type pause struct{ next, most time.Duration }

func newPause(least, most time.Duration) *pause { return &pause{next: least, most: most} }

// wait waits, or returns the cause of ctx if that ends first.
func (p *pause) wait(ctx context.Context) error {
	d := p.next*3/4 + rand.N(p.next/2)
	p.next = min(p.next*3/2, p.most)
	return sleep(ctx, d)
}

// sleep waits for so long, or returns the cause of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return cause(ctx)
	}
}
