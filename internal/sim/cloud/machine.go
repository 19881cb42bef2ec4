package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// gate is a lock that is waited for under a context.
type gate chan struct{}

// lock returns task.ErrAbandoned if ctx ends first. A lock that is free is taken even if ctx has ended: a call that came just before its client
// went is carried out.
func (g gate) lock(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	default:
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return task.ErrAbandoned
	}
}

func (g gate) unlock() { <-g }

// machine is a machine as the server knows it. Whatever changes its state holds life, so that a second change waits.
type machine struct {
	s           *Server
	id, account string
	life        gate

	mu       sync.Mutex
	rec      record
	gone     bool
	starting bool
	vm       *vm
	active   int // commands and transfers in flight
	boots    int
	// pretend says which ports a test wants to be listened on, or not, whatever the guest does.
	pretend map[int]bool
	// rendered is the record in JSON as long as nothing in it depends on time; version counts what makes it stale.
	rendered []byte
	version  int
}

// vm is a machine between its boot and its end.
type vm struct {
	inst sim.Instance
	once sync.Once
}

// release lets the machine go on without this server. It may be called more than once, and on nil.
func (v *vm) release() {
	if v != nil {
		v.once.Do(func() { _ = v.inst.Release() })
	}
}

func (v *vm) alive() bool {
	select {
	case <-v.inst.Done():
		return false
	default:
		return true
	}
}

func (s *Server) newMachine(rec *record) *machine {
	return &machine{s: s, id: rec.ID, account: rec.Account, life: make(gate, 1), rec: *rec}
}

// find returns the machine that the path names, unless it is somebody else's.
func (c *call) find() (*machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.machines[c.params["id"]]; m != nil && m.account == c.who.account {
		return m, nil
	}
	return nil, noMachine()
}

// exclusive does one change of a machine's state, alone. It goes on to its end if who asked for it goes.
func exclusive[T any](c *call, m *machine, do func() (T, error)) (T, error) {
	var none T
	if err := m.hold(c.ctx); err != nil {
		return none, err
	}
	return task.Step(c.ctx, c.tasks, func() (T, error) {
		defer m.life.unlock()
		return do()
	}, nil)
}

// hold takes the machine's lock, unless it is gone by then.
func (m *machine) hold(ctx context.Context) error {
	if err := m.life.lock(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		m.life.unlock()
		return noMachine()
	}
	return nil
}

// update changes the record and writes it. m.mu must not be held.
func (m *machine) update(change func(*record)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.updateLocked(change)
}

func (m *machine) updateLocked(change func(*record)) error {
	if m.gone {
		return nil
	}
	next := m.rec
	next.UpdatedAt = m.s.now()
	change(&next)
	if err := m.s.store.Save(&next); err != nil {
		return fmt.Errorf("write the record of %s: %w", m.id, err)
	}
	if !next.Meter.Sampled.Equal(m.rec.Meter.Sampled) {
		m.s.samples.Add(1)
	}
	m.rec = next
	m.stale()
	return nil
}

// note adds to the history of a record.
func (r *record) note(s *Server, level, format string, args ...any) {
	const kept = 1000
	list := r.History
	if len(list) >= kept {
		list = list[len(list)-kept+1:]
	}
	e := historyEntry{"evt-" + randhex.String(8), level, fmt.Sprintf(format, args...), s.now()}
	r.History = append(slices.Clip(list), e)
}

// snapshot returns the record and the machine that runs, if one does.
func (m *machine) snapshot() (record, *vm) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.vm != nil && !m.vm.alive() {
		return m.rec, nil
	}
	return m.rec, m.vm
}

// begin notes that somebody uses the machine, until end is called.
func (m *machine) begin() (end func()) {
	m.touch(1)
	return sync.OnceFunc(func() { m.touch(-1) })
}

func (m *machine) touch(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active += n
	m.rec.ActiveAt = m.s.now()
	m.stale()
}

// stale drops what was rendered. m.mu is held.
func (m *machine) stale() {
	m.rendered = nil
	m.version++
}

// release lets the machine go on without this server.
func (m *machine) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vm.release()
}

func (m *machine) killAll() {
	if _, v := m.snapshot(); v != nil {
		_ = v.inst.Kill()
	}
}

// lookupRef finds a machine by its id or its name, whoever it belongs to.
func (s *Server) lookupRef(ref string) (*machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.machines[ref]; m != nil {
		return m, nil
	}
	for _, m := range s.order {
		m.mu.Lock()
		name := m.rec.Name
		m.mu.Unlock()
		if name == ref {
			return m, nil
		}
	}
	return nil, errors.New("there is no machine " + ref)
}

// Boots returns how often the machine, named by its id or its name, was booted since this server has begun, or 0 if there is none.
func (s *Server) Boots(ref string) int {
	m, err := s.lookupRef(ref)
	if err != nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boots
}

// SetListening says, whatever the guest does, whether something listens on a port of the machine that ref names by its id or its name. It is
// for guests whose commands cannot listen.
func (s *Server) SetListening(ref string, port int, listening bool) error {
	m, err := s.lookupRef(ref)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pretend == nil {
		m.pretend = map[int]bool{}
	}
	m.pretend[port] = listening
	return nil
}
