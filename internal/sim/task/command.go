package task

import (
	"errors"
	"math"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// ErrFull is what a writer of output returns that takes no more; for the command it is no failure.
var ErrFull = errors.New("output limit reached")

// Kill kills a command as far as reach says; a guest without processes knows only one reach.
func Kill(p sim.Process, reach sim.Reach) {
	if c, ok := p.(sim.Controlled); ok {
		_ = c.Kill(reach)
		return
	}
	_ = p.Signal(9)
}

// Ending is a command on its way to its end.
type Ending struct {
	// Exited is closed when the command itself has ended. It is nil if the guest does not tell that apart.
	Exited <-chan struct{}
	// Waited gets the end of the command and of its output.
	Waited <-chan Result
}

// Result is how a command ended. Err says that the machine or the connection to it went away.
type Result struct {
	Code int
	Err  error
}

// Watch waits for a command in the background.
func (g *Group) Watch(p sim.Process) *Ending {
	waited := make(chan Result, 1)
	e := &Ending{Waited: waited}
	if c, ok := p.(sim.Controlled); ok {
		e.Exited = c.Exited()
	}
	g.Go(func() {
		code, err := p.Wait()
		if errors.Is(err, ErrFull) {
			err = nil
		}
		waited <- Result{code, err}
	})
	return e
}

// Reap waits for a command that nobody else waits for.
func Reap(p sim.Process) {
	go func() { _, _ = p.Wait() }()
}

// Seconds is a time-out in whole seconds, at most what a Duration holds.
func Seconds(n uint64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/uint64(2*time.Second))) * time.Second
}
