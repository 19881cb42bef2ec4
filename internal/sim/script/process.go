package script

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// The Linux signals that mean something here; the host's own numbers may differ.
const (
	sigKill = 9
	sigTerm = 15
	sigCont = 18
	sigStop = 19
)

// ignored are the signals that do nothing to a command that has not asked for them: CHLD, the stops of terminals, URG and WINCH.
var ignored = map[int]bool{17: true, 20: true, 21: true, 22: true, 23: true, 28: true}

// process is a command that runs as a call of a function. It is dead when the function returned or when it was killed, though
// the function may not know of that yet.
type process struct {
	in     *instance
	pid    int
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	stderr io.Writer
	tied   atomic.Bool // it ends when its machine is released
	// stopped holds it up after STOP, until CONT.
	stopped gate

	begun      atomic.Bool // the function has done something
	decideOnce sync.Once
	decided    chan struct{} // closed when it has, or has returned

	writing sync.RWMutex // held for reading by writes, so that none is under way once the command is dead
	dead    bool

	mu       sync.Mutex
	trapped  func(int)
	ended    chan struct{}
	isEnded  bool
	code     int
	started  bool // somebody has been told that it runs
	notFound bool
	gone     bool // the machine went away under it
}

func newProcess(in *instance, pid int, name string, stderr io.Writer) *process {
	p := &process{in: in, pid: pid, name: name, decided: make(chan struct{}), ended: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.stderr = &output{p, stderr}
	return p
}

func (p *process) PID() int { return p.pid }

func (p *process) Resize(int, int) error { return nil }

func (p *process) Wait() (int, error) {
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, fmt.Errorf("%s: %w", p.name, sim.ErrNotRunning)
	}
	return p.code, nil
}

// Signal does what the signal does by default, unless the command has trapped it.
func (p *process) Signal(sig int) error {
	p.mu.Lock()
	f, ended := p.trapped, p.isEnded
	p.mu.Unlock()
	switch {
	case ended:
		return os.ErrProcessDone
	case sig == 0:
	case sig == sigStop:
		p.stopped.close()
	case sig == sigCont:
		p.stopped.open()
	case sig != sigKill && f != nil:
		f(sig)
	case !ignored[sig]:
		p.end(128+sig, false)
	}
	return nil
}

func (p *process) trap(f func(int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trapped = f
}

// end makes the command dead, with code; the first end counts. The function may still run, but is not heard any more.
func (p *process) end(code int, gone bool) {
	p.mu.Lock()
	if p.isEnded {
		p.mu.Unlock()
		return
	}
	// Before the context ends, or the function would return because of it and that would count.
	p.isEnded, p.code, p.gone = true, code, gone
	p.mu.Unlock()
	p.cancel()
	p.writing.Lock()
	p.dead = true
	p.writing.Unlock()
	p.decide()
	close(p.ended)
}

// commit says that the command has begun: whatever it returns now, it was found.
func (p *process) commit() {
	p.begun.Store(true)
	p.decide()
}

// decide lets go whoever waits to hear whether the command was found.
func (p *process) decide() { p.decideOnce.Do(func() { close(p.decided) }) }

// alive returns an error once the command is dead, and waits as long as the machine is frozen.
func (p *process) alive() error {
	p.in.gate.wait(p.ctx)
	p.stopped.wait(p.ctx)
	if p.ctx.Err() != nil {
		return os.ErrClosed
	}
	return nil
}

func (p *process) write(w io.Writer, b []byte) (int, error) {
	if err := p.alive(); err != nil {
		return 0, err
	}
	p.writing.RLock()
	defer p.writing.RUnlock()
	if p.dead {
		return 0, os.ErrClosed
	}
	return w.Write(b)
}

// run calls f until it returns, however it does: a Goexit, which a failed test is, counts as a failure.
func (p *process) run(f func(context.Context) int) {
	code := 1
	defer func() {
		if code == NotFound {
			code = p.lost()
		}
		p.end(code&0xff, false)
	}()
	code = f(callContext{p.ctx, p})
}

// lost is the exit code of a command whose program does not exist. Nobody sees it if whoever started the command is still waiting to hear
// that it was found.
func (p *process) lost() int {
	p.mu.Lock()
	started := p.started || p.begun.Load()
	p.notFound = !started
	p.mu.Unlock()
	if started {
		fmt.Fprintf(p.stderr, "sh: %s: not found\n", p.name)
	}
	return 127
}

// found waits until the command has begun or, because a function may think for long, a moment; it reports whether there is such a program.
func (p *process) found(ctx context.Context) (bool, error) {
	moment := time.NewTimer(250 * time.Millisecond)
	defer moment.Stop()
	select {
	case <-p.decided:
	case <-moment.C:
	case <-ctx.Done():
		p.end(128+sigKill, false)
		return false, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	return !p.notFound, nil
}

// gate holds up the commands of a frozen machine.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// wait returns when the gate is open or ctx ends.
func (g *gate) wait(ctx context.Context) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return
	}
	select {
	case <-shut:
	case <-ctx.Done():
	}
}
