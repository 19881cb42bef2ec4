// Package pace waits: once, or between tries, for longer each time.
package pace

import (
	"context"
	"math/rand/v2"
	"time"
)

// Wait waits for d, or returns the cause of ctx if that ends first. Zero and less: it does not wait, and does not ask ctx.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Pace is a wait between tries that grows by half each time, with jitter of a quarter either way. It is for one goroutine.
type Pace struct{ next, most time.Duration }

// New returns a pace that begins with the least wait and ends with the most.
func New(least, most time.Duration) *Pace { return &Pace{least, most} }

// Wait is the next wait; see [Wait].
func (p *Pace) Wait(ctx context.Context) error {
	d := p.next*3/4 + rand.N(p.next/2+1)
	p.next = min(p.next*3/2, p.most)
	return Wait(ctx, d)
}
