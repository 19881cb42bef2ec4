package smol

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"
)

// resolve returns the id of the machine, asking the fleet the first time.
func (m *Machine) resolve(ctx context.Context) (string, error) {
	if id := m.ID(); id != "" {
		return id, nil
	}
	info, err := m.inspect(ctx)
	if err != nil {
		return "", err
	}
	return info.ID, nil
}

// inspect asks the fleet about the machine and remembers the answer.
func (m *Machine) inspect(ctx context.Context) (*Info, error) {
	id := m.ID()
	if id == "" {
		id = m.ref
		if err := validateRef(id); err != nil {
			return nil, err
		}
	}
	info, err := m.fleet.backend.Inspect(ctx, id)
	if err != nil {
		return nil, err
	}
	m.observe(info)
	return info, nil
}

// observe remembers what the fleet said about the machine.
func (m *Machine) observe(info *Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.id == "" {
		m.id, m.name = info.ID, info.Name
	}
	if m.id == info.ID {
		m.last = info
	}
}

// forget lets the next call look the reference up again. It reports whether that can give another machine: a handle that was
// made from an id cannot come to mean another one.
func (m *Machine) forget() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.id == "" || m.id == m.ref {
		return false
	}
	m.id, m.name, m.last = "", "", nil
	return true
}

// within reports whether the guest path p is dir or lies below it.
func within(p, dir string) bool {
	p, dir = path.Clean("/"+p), path.Clean("/"+dir)
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// prepare lets a call into the machine through: it boots a machine that is stopped and waits for one that is booting.
func (m *Machine) prepare(ctx context.Context) error {
	_, err := m.letIn(ctx)
	return err
}

// letIn is prepare, and returns what the fleet said about the machine.
func (m *Machine) letIn(ctx context.Context) (*Info, error) {
	pause := newPause(50*time.Millisecond, time.Second)
	for {
		info, err := m.check(ctx)
		if err != nil {
			return nil, err
		}
		switch info.State {
		case StateRunning:
			return info, nil
		case StateStopped:
			// The fleet boots it at the command too, but without what an explicit start does, such as the image's own workload.
			started, err := m.fleet.backend.Start(ctx, info.ID, nil)
			if err != nil {
				return nil, nameImage(err, info.Image)
			}
			m.observe(started)
			m.booted.Store(true)
			if started.State == StateRunning {
				return started, nil
			}
		case StateCreating, StateStarting:
		default:
			return info, m.refuse(info)
		}
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// requireRunning lets a call through only if the machine runs. A call that came in the middle of a stop would boot the machine again.
func (m *Machine) requireRunning(ctx context.Context) error {
	_, err := m.running(ctx)
	return err
}

// running is requireRunning, and returns what the fleet said about the machine.
func (m *Machine) running(ctx context.Context) (*Info, error) {
	if err := m.fleet.limits.Pass(ctx, m.limitKey(m.ID())); err != nil {
		return nil, err
	}
	info, err := m.check(ctx)
	if err != nil || info.State == StateRunning {
		return info, err
	}
	return info, m.refuse(info)
}

// refuse says why nothing is sent to a machine in that state. A state that the library does not know is let through: services
// grow.
func (m *Machine) refuse(info *Info) error {
	hint, known := stateHints[info.State]
	if !known {
		return nil
	}
	return &StateError{Machine: orElse(info.Name, info.ID), Want: StateRunning, Got: info.State, Reason: info.Reason, Hint: hint}
}

// stateHints is what can be done about each state in which a machine takes no commands.
var stateHints = map[State]string{
	StateCreating:    "wait for it with WaitReady",
	StateStarting:    "wait for it with WaitReady",
	StateStopped:     "call Start",
	StatePausing:     "wait until it is paused, then resume it with the service's own program",
	StatePaused:      "resume it with the service's own program; this library cannot yet",
	StateFrozen:      "delete its branches, then call Stop and Start (commands in it are lost); or branch it again",
	StateUnreachable: "call Stop and then Start; commands in it are lost",
	StateFailed:      "see the reason and the logs, then call Start, or delete it",
	StateDeleted:     "create another one",
}

// checks shares the answers to the question what state a machine is in, among calls that ask at the same time.
type checks struct {
	mu      sync.Mutex
	started int // how many questions have been asked
	current *flight
}

type flight struct {
	number int
	done   chan struct{}
	info   *Info
	err    error
	own    bool // the error is that of the asker's context and nobody else's
}

// check asks the fleet for the machine's state. An answer is shared only with calls that came before it was asked for: what a caller
// did before its call shows in the answer.
func (m *Machine) check(ctx context.Context) (*Info, error) {
	c := &m.checks
	c.mu.Lock()
	seen := c.started
	for c.current != nil {
		f := c.current
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, cause(ctx)
		}
		if f.number > seen && !f.own {
			return f.info, f.err
		}
		c.mu.Lock()
	}
	c.started++
	f := &flight{number: c.started, done: make(chan struct{})}
	c.current = f
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.current = nil
		c.mu.Unlock()
		close(f.done)
	}()
	f.own = true // should inspect panic
	f.info, f.err = m.inspect(ctx)
	f.own = ctx.Err() != nil
	return f.info, f.err
}

// observed returns the state seen last, or "".
func (m *Machine) observed() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return ""
	}
	return m.last.State
}
