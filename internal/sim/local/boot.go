package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// bootLimit is how long a machine may take until it answers.
const bootLimit = 30 * time.Second

// pullError is a failed pull of the image during a start.
type pullError struct{ reason error }

func (e *pullError) Error() string {
	return "agent operation failed: pull image: " + e.reason.Error()
}

// bindErr is a published port that cannot be had.
type bindErr struct{ cause error }

func (e *bindErr) Error() string { return bindError(e.cause) }

// pullUnlessMissing is the default of Options.Pull.
func pullUnlessMissing(_ context.Context, image string) error {
	if strings.Contains(image, "missing") {
		return fmt.Errorf("%w: %s", sim.ErrNoImage, normalise(image))
	}
	return nil
}

// bootRefusal is what the boot process finds wrong with the configuration.
func bootRefusal(rec *record) error {
	refuse := func(reason string) error {
		return fmt.Errorf("agent operation failed: monitor agent: %s (boot process exited (code 1) before the agent was ready)", reason)
	}
	if rec.Backend == nil {
		return nil
	}
	cidrs := rec.AllowedCIDRs != nil && len(*rec.AllowedCIDRs) > 0
	switch {
	case *rec.Backend == "tsi" && cidrs:
		return refuse("the tsi backend cannot enforce an egress policy; use virtio-net")
	case *rec.Backend == "virtio-net" && !rec.Network && len(rec.Ports) == 0 && !cidrs:
		return refuse("virtio-net requires networking to be enabled")
	}
	return nil
}

// boot starts the machine from its record. Nothing is left running when it fails.
func (m *machine) boot(rec *record, sources []string) (*vm, error) {
	if err := bootRefusal(rec); err != nil {
		return nil, err
	}
	mounts := rec.simMounts()
	for i := range mounts {
		mounts[i].Source = sources[i]
		if _, err := os.Stat(mounts[i].Source); err != nil {
			return nil, fmt.Errorf("mount source not found: %s", mounts[i].Source)
		}
	}
	ports, err := listen(rec.Ports)
	if err != nil {
		return nil, &bindErr{err}
	}
	inst, err := m.bootInstance(rec, mounts)
	if err != nil {
		ports.close()
		return nil, err
	}
	v := newVM(inst)
	v.ports, v.sources = ports, sources
	ports.serve(inst, rec.Ports)
	return v, nil
}

func (m *machine) bootInstance(rec *record, mounts []sim.Mount) (sim.Instance, error) {
	s := m.s
	ctx, cancel := context.WithTimeout(s.tasks.Context(), bootLimit)
	defer cancel()
	dir := s.store.Guest(rec.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("io operation failed: %w", err)
	}
	if err := os.WriteFile(s.store.Console(rec.Name), nil, 0o600); err != nil {
		return nil, fmt.Errorf("io operation failed: %w", err)
	}
	inst, err := s.o.Guest.Boot(ctx, &sim.Boot{Dir: dir, Name: rec.Name, Image: rec.Image, Mounts: mounts})
	switch {
	case errors.Is(err, sim.ErrNoImage):
		return nil, &pullError{err}
	case err != nil:
		if cause := s.o.Guest.Supported(); cause != nil {
			return nil, fmt.Errorf("kvm not available: %w", cause)
		}
		return nil, fmt.Errorf("agent operation failed: start agent: %w", err)
	}
	if err := os.WriteFile(s.store.Console(rec.Name), []byte(inst.Console()), 0o600); err != nil {
		_ = inst.Kill()
		return nil, fmt.Errorf("io operation failed: %w", err)
	}
	return inst, nil
}

// sent are the host mounts' sources as the record has them; resolved follows their links, where that can be done.
func (r *record) sent() (sources []string) {
	for _, m := range r.simMounts() {
		sources = append(sources, m.Source)
	}
	return sources
}

func (r *record) resolved() (sources []string) {
	for _, s := range r.sent() {
		if target, err := filepath.EvalSymlinks(s); err == nil {
			s = target
		}
		sources = append(sources, s)
	}
	return sources
}

// up brings the machine from not running to running: boot, pull, and then the record and the workload. The caller holds m.life. If ctx
// ends on the way the machine is left as an abandoned start leaves it.
func (m *machine) up(ctx context.Context, sources []string, booted func(*record)) (*vm, error) {
	rec, _ := m.snapshot()
	over := make(chan struct{})
	m.mu.Lock()
	m.booting = over
	m.mu.Unlock()
	end := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.booting = nil
		close(over)
	}
	v, err := task.Step(ctx, m.s.tasks, func() (*vm, error) { return m.boot(&rec, sources) }, func(v *vm, err error) {
		_ = v.kill()
		end()
	})
	if errors.Is(err, task.ErrAbandoned) {
		return nil, err
	}
	if err == nil && rec.Image != "" {
		if err = m.pullForStart(ctx, &rec, v, end); errors.Is(err, task.ErrAbandoned) {
			return nil, err
		}
	}
	end()
	if err != nil {
		var pull *pullError
		m.mu.Lock()
		m.stale = errors.As(err, &pull) && m.s.version.staleLock()
		m.mu.Unlock()
		return nil, err
	}
	return v, m.commit(v, booted)
}

// pullForStart pulls the image of a machine that has just booted, and kills the machine if that fails.
func (m *machine) pullForStart(ctx context.Context, rec *record, v *vm, end func()) error {
	pull := func() error { return m.s.o.Pull(m.s.tasks.Context(), rec.Image) }
	err := stepErr(m.s, ctx, pull, func(err error) {
		switch closed := m.s.tasks.Context().Err() != nil; {
		case closed: // the machine goes on, and the next server finds it
			v.release()
		case err != nil:
			_ = v.kill()
		default:
			m.mu.Lock()
			m.limbo = v
			m.mu.Unlock()
		}
		end()
	})
	if err == nil || errors.Is(err, task.ErrAbandoned) {
		return err
	}
	_ = v.kill()
	return &pullError{err}
}

// commit records that the machine runs and launches its workload.
func (m *machine) commit(v *vm, change func(*record)) error {
	m.mu.Lock()
	err := m.updateLocked(func(r *record) {
		r.State, r.PID, r.Frozen = stateRunning, v.inst.PID(), false
		if r.Image != "" {
			r.Images = appendNew(r.Images, normalise(r.Image))
		}
		change(r)
	})
	if err == nil {
		m.vm, m.limbo, m.stale, m.registered = v, nil, false, true
	}
	rec := m.rec
	m.mu.Unlock()
	if err != nil {
		_ = v.kill()
		return err
	}
	m.workload(v, &rec)
	return nil
}

// workload launches what an image machine is for. A failure is only logged.
func (m *machine) workload(v *vm, rec *record) {
	conf := environ.Config(v.inst)
	argv := rec.Argv
	if len(argv) == 0 {
		argv = conf.Argv
	}
	if rec.Image == "" || len(argv) == 0 {
		return
	}
	dir := rec.Workdir
	if dir == "" {
		dir = conf.Dir
	}
	cmd := &sim.Command{Argv: argv, Env: append(environ.Image(conf), rec.Env...), Dir: dir, User: conf.User}
	p, err := v.inst.Start(m.s.tasks.Context(), cmd)
	if err != nil {
		m.s.o.Log.Warn("workload container launch failed", "machine", rec.Name, "err", err)
		return
	}
	task.Reap(p)
}
