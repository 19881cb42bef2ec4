package smoltest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

// rowTest is the test of one row.
type rowTest struct {
	testing.TB
	*suite
	name    string
	ctx     context.Context
	backend smol.Backend
}

// skip ends the row, which the fleet's lack of something keeps from being tested.
func (r *rowTest) skip(reason string) {
	r.Helper()
	r.suite.mu.Lock()
	r.skipped[r.name] = reason
	r.suite.mu.Unlock()
	r.TB.Skip(reason)
}

// need skips the row if the fleet lacks the capability.
func (r *rowTest) need(c smol.Capability) {
	r.Helper()
	if !r.fleet.Supports(c) {
		r.skip("no " + string(c))
	}
}

// newName returns a name that no machine has.
func (r *rowTest) newName() string { return r.o.Prefix + "-" + randhex.String(4) }

// spec is a small machine.
func (r *rowTest) spec() smol.Spec {
	s := smol.Spec{Name: r.newName(), Image: r.o.Image, Resources: smol.Resources{CPUs: 1, MemoryMiB: 512}}
	// Locally an image is pulled from within the machine.
	s.Network.Open = r.o.Image != "" && r.backend.Traits().Fleet == "local"
	return s
}

// machine creates a machine that is deleted at the end of the row.
func (r *rowTest) machine() *smol.Machine {
	r.Helper()
	return r.create(r.spec())
}

func (r *rowTest) create(spec smol.Spec) *smol.Machine {
	r.Helper()
	m, err := r.fleet.Create(r.ctx, spec, nil)
	if err != nil {
		r.Fatalf("create: %v", err)
	}
	r.discardLater(m)
	return m
}

func (r *rowTest) discardLater(m *smol.Machine) {
	r.Cleanup(func() {
		if err := m.Discard(); err != nil {
			r.Errorf("delete at the end: %v", err)
		}
	})
}

// record makes a machine's record on the backend, without booting it.
func (r *rowTest) record() *smol.Info {
	r.Helper()
	spec := r.spec()
	info, err := r.backend.Create(r.ctx, &spec)
	if err != nil {
		r.Fatalf("create: %v", err)
	}
	r.discardLater(r.fleet.Machine(info.ID))
	if info.ID == "" || info.Name != spec.Name {
		r.Fatalf("create of %s describes %q with the id %q", spec.Name, info.Name, info.ID)
	}
	return info
}

// between returns the fleet with a backend in the middle.
func (r *rowTest) between(change func(b *bent)) *smol.Fleet {
	b := &bent{Backend: r.backend}
	change(b)
	return smol.NewFleet(b)
}

// wantNone fails if there is a machine of that name.
func (r *rowTest) wantNone(name string) {
	r.Helper()
	if info, err := r.fleet.Machine(name).Info(r.ctx); err == nil {
		r.Errorf("machine %s exists and is %s", name, info.State)
		r.discardLater(r.fleet.Machine(info.ID))
	} else if !errors.Is(err, smol.ErrNotFound) {
		r.Errorf("whether there is a machine %s: %v", name, err)
	}
}

// want fails unless err matches target and is of the types that errors have.
func (r *rowTest) want(what string, err, target error) {
	r.Helper()
	if err == nil {
		r.Errorf("%s: no error, want %q", what, target)
		return
	}
	if !errors.Is(err, target) {
		r.Errorf("%s: got %v, which does not match %q", what, err, target)
	}
	var e *smol.Error
	var state *smol.StateError
	switch {
	case errors.As(err, &e):
		if e.Code == "" || e.Message == "" && e.Err == nil {
			r.Errorf("%s: an error without code or words: %#v", what, e)
		}
	case errors.As(err, &state), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		r.Errorf("%s: an error of type %T: %v", what, err, err)
	}
}

// wantMissing fails unless the service itself said that there is no such machine.
func (r *rowTest) wantMissing(what string, err error) {
	r.Helper()
	r.want(what, err, smol.ErrNotFound)
	var e *smol.Error
	if errors.As(err, &e) && e.Status != 404 {
		r.Errorf("%s: status %d, want 404", what, e.Status)
	}
}

// exec runs a program of the suite on the fleet's own wire.
func (r *rowTest) exec(id string, req *smol.ExecRequest) *smol.ExecResult {
	r.Helper()
	res, err := r.backend.Exec(r.ctx, id, req)
	if err != nil {
		r.Fatalf("exec: %v", err)
	}
	return res
}

// output runs a program of the suite and returns what it wrote.
func (r *rowTest) output(c *smol.Cmd) string {
	r.Helper()
	out, err := c.Output(r.ctx)
	if err != nil {
		r.Fatalf("%.60q: %v", c.Args, err)
	}
	return string(out)
}

// write writes a file of a machine.
func (r *rowTest) write(m *smol.Machine, path string, data []byte) {
	r.Helper()
	if err := m.WriteFile(r.ctx, path, data, nil); err != nil {
		r.Fatalf("write %s: %v", path, err)
	}
}

// wantFile fails unless the file holds data.
func (r *rowTest) wantFile(m *smol.Machine, path string, data []byte) {
	r.Helper()
	got, err := m.ReadFile(r.ctx, path)
	if err != nil {
		r.Errorf("read %s: %v", path, err)
	} else {
		r.same(path, got, data)
	}
}

// same fails unless got is what was wanted.
func (r *rowTest) same(what string, got, want []byte) {
	r.Helper()
	if bytes.Equal(got, want) {
		return
	}
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	r.Errorf("%s: %d bytes, want %d; they differ from byte %d on: %.40q, want %.40q", what, len(got), len(want), n, got[n:], want[n:])
}

// until calls f until it returns true, and fails when the time of the row is over.
func (r *rowTest) until(what string, f func() bool) {
	r.Helper()
	for !f() {
		if pause(r.ctx) != nil {
			r.Fatalf("%s: it does not happen", what)
		}
	}
}

// pause waits a moment, or returns why ctx has ended.
func pause(ctx context.Context) error { return pace.Wait(ctx, 20*time.Millisecond) }
