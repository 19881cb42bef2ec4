package local

import (
	"context"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// connections is how many a machine serves at a time.
const connections = 8

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

// machine is a machine as the server knows it. Start, stop, delete, fork, resize, export and every implicit start hold life, so that a
// second one waits.
type machine struct {
	s    *Server
	name string
	life gate

	mu  sync.Mutex
	rec record
	// registered: it is in the server's registry. A machine that others made is known to the database only.
	registered bool
	gone       bool
	// vm runs and is known to run.
	vm *vm
	// limbo runs, but the start that made it was abandoned: the record says that it is stopped.
	limbo *vm
	// booting is closed when a boot that was abandoned has ended.
	booting chan struct{}
	// stale: the lock of a start that failed at the pull was never released.
	stale bool
	// userStopped is the registry's copy, which the supervisor reads and stop does not write.
	userStopped bool
	restarts    int
	retryAt     time.Time
	reboots     int
}

// vm is a machine between its boot and its end.
type vm struct {
	inst  sim.Instance
	slots chan struct{}
	ports *forwards
	// sources are the mounts as they were launched.
	sources []string
	mu      sync.Mutex
	// proven: a command has ended in it. released: it runs on without this server.
	proven, released bool
}

func newVM(inst sim.Instance) *vm {
	return &vm{inst: inst, slots: make(chan struct{}, connections)}
}

func (v *vm) alive() bool {
	select {
	case <-v.inst.Done():
		return false
	default:
		return true
	}
}

// connect takes one of the connections, waiting for at most d, and reports whether it got one. Disconnect gives it back.
func (v *vm) connect(ctx context.Context, d time.Duration) bool {
	select {
	case v.slots <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case v.slots <- struct{}{}:
		return true
	case <-t.C:
	case <-v.inst.Done():
	case <-ctx.Done():
	}
	return false
}

func (v *vm) disconnect() { <-v.slots }

// kill ends the machine, with all that runs in it.
func (v *vm) kill() error {
	if v == nil {
		return nil
	}
	v.ports.close()
	return v.inst.Kill()
}

// release lets the machine go on without this server. It may be called more than once, and on nil.
func (v *vm) release() {
	if v == nil {
		return
	}
	v.mu.Lock()
	released := v.released
	v.released = true
	v.mu.Unlock()
	if !released {
		v.ports.close()
		_ = v.inst.Release()
	}
}

func (m *machine) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vm.release()
	m.limbo.release()
}

func (m *machine) killAll() {
	m.mu.Lock()
	vm, limbo := m.vm, m.limbo
	m.mu.Unlock()
	_ = vm.kill()
	_ = limbo.kill()
}

// find returns the machine with a record.
func (s *Server) find(name string) (*machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.machines[name]; m != nil {
		return m, nil
	}
	return nil, notFound("machine '%s' not found", name)
}

// registered returns the machine if it is in the registry.
func (s *Server) registered(name string) (*machine, error) {
	m, err := s.find(name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.registered {
		return nil, notFound("machine '%s' not found", name)
	}
	return m, nil
}

// locked finds the machine and takes its lock. The caller must unlock it.
func (c *call) locked(find func(string) (*machine, error)) (*machine, error) {
	m, err := find(c.params["name"])
	if err != nil {
		return nil, err
	}
	if err := m.life.lock(c.ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		m.life.unlock()
		return nil, notFound("machine '%s' not found", m.name)
	}
	return m, nil
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
	change(&next)
	if err := m.s.store.Save(&next); err != nil {
		return internal("database error: %v", err)
	}
	m.rec = next
	return nil
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

// state is what a read tells, probing a machine that runs.
func (m *machine) state(ctx context.Context) string {
	rec, v := m.snapshot()
	switch {
	case rec.State == statePaused:
		return statePaused
	case v == nil && rec.State == stateRunning:
		return stateStopped
	case v == nil:
		return rec.State
	case rec.Frozen:
		return stateFrozen
	case !v.connect(ctx, m.s.o.Probe/2):
		if !v.alive() {
			return stateStopped
		}
		return stateUnreachable
	}
	v.disconnect()
	return stateRunning
}

// info answers about the machine.
func (m *machine) info(ctx context.Context) machineInfo {
	state := m.state(ctx)
	rec, v := m.snapshot()
	in := machineInfo{
		Name: rec.Name, State: state, CPUs: rec.CPUs, MemoryMB: rec.MemoryMB, Mounts: []mountInfo{}, Ports: []port{},
		Network: rec.Network, GPU: rec.GPU, CUDA: rec.CUDA, Backend: rec.Backend, AllowedCIDRs: rec.AllowedCIDRs,
		AllowedHosts: rec.AllowedHosts, StorageGB: rec.StorageGB, OverlayGB: rec.OverlayGB, Forkable: rec.Forkable,
		ForkHeld: rec.Held, CreatedAt: rec.CreatedAt,
	}
	if v != nil && state != stateStopped && state != statePaused {
		in.PID = v.inst.PID()
	}
	if m.s.version.tellsImage() {
		in.Image = rec.Image
	}
	in.Ports = append(in.Ports, rec.Ports...)
	for _, mt := range rec.Mounts {
		if !remote(mt.Source) {
			in.Mounts = append(in.Mounts, mountInfo{tag(len(in.Mounts)), mt})
		}
	}
	return in
}
