package cloud_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	simcloud "github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/smol"
)

// TestLostReplies does the work and loses the answer, on a clock that stands still in another year.
func TestLostReplies(t *testing.T) {
	s := newStandIn(t, nil, simcloud.Options{Clock: simcloud.NewFakeClock(time.Date(2026, 10, 4, 12, 0, 0, 0, time.UTC)), Sweep: -1})
	lose := func(method, path string, times int) {
		s.h.ClearFaults()
		s.h.Fault(fault.Fault{Method: method, Path: path, Nth: 1, Times: times, Action: fault.LoseReply})
	}
	lose("POST", "/v1/machines", 0)
	m := s.create(t, smol.Spec{Name: "web", Branchable: true})
	if n := s.sent("POST", "/v1/machines"); n != 1 {
		t.Errorf("%d creates", n)
	}
	lose("POST", "/branches", 0)
	child, err := m.Branch(t.Context(), "twig", nil)
	if err != nil || child.Name() != "twig" || s.sent("POST", "/branches") != 1 {
		t.Errorf("%v after %d branches", err, s.sent("POST", "/branches"))
	}
	lose("POST", "/stop", 0)
	if err := m.Stop(t.Context(), nil); err != nil {
		t.Error(err)
	}
	lose("POST", "/start", 0)
	if err := m.Start(t.Context(), nil); err != nil {
		t.Error(err)
	}
	lose("POST", "/exec", 0)
	if out, err := m.Command("echo", "once").Output(t.Context()); err != nil || string(out) != "once\n" {
		t.Errorf("%q, %v", out, err)
	}
	lose("DELETE", "machines/", 0)
	if err := m.Delete(t.Context(), nil); err != nil {
		t.Error(err)
	}
	lose("DELETE", "machines/", 3)
	if err := child.Delete(t.Context(), nil); err != nil {
		t.Error(err)
	}
	s.h.ClearFaults()
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestCancelledCreate: a create whose context ends leaves nothing behind, whatever the service was doing.
func TestCancelledCreate(t *testing.T) {
	for _, at := range []string{"/v1/machines", "/start", "/exec"} {
		s := newStandIn(t, nil, simcloud.Options{Clock: simcloud.NewFakeClock(time.Time{}), Sweep: -1})
		ctx, cancel := context.WithCancel(t.Context())
		once := sync.OnceFunc(cancel)
		s.after = func(request string) error {
			if !strings.HasPrefix(request, "POST") || !strings.HasSuffix(request, at) {
				return nil
			}
			once()
			return ctx.Err() // the answer does not arrive
		}
		if _, err := s.Create(ctx, smol.Spec{Name: "web", Image: "alpine"}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
		s.after = func(string) error { return nil }
		if left := s.left(t); len(left) > 0 {
			t.Errorf("%s: left behind: %q", at, left)
		}
		if n := s.sent("POST", "/v1/machines"); n != 1 {
			t.Errorf("%s: %d creates", at, n)
		}
	}
}

// TestSweeps: the service stops and deletes by its own clock, and what it will do can be read.
func TestSweeps(t *testing.T) {
	clock := simcloud.NewFakeClock(time.Time{})
	s := newStandIn(t, nil, simcloud.Options{Clock: clock, ReapEphemeral: true})
	ctx := t.Context()
	idle := s.create(t, smol.Spec{Name: "idle", AutoStop: time.Minute})
	short := s.create(t, smol.Spec{Name: "short", TTL: 2 * time.Minute})
	once := s.create(t, smol.Spec{Name: "once", Ephemeral: true, AutoStop: time.Minute})
	info, err := once.Info(ctx)
	if err != nil || info.StopsAt.IsZero() || info.DeletesAt != info.StopsAt {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err = idle.Info(ctx); err != nil || info.StopsAt.Sub(clock.Now()) != time.Minute || !info.DeletesAt.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	clock.Advance(90 * time.Second)
	if info, err = idle.Info(ctx); err != nil || info.State != smol.StateStopped || !info.StopsAt.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := once.Info(ctx); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("the ephemeral machine: %v", err)
	}
	if info, err = short.Info(ctx); err != nil || info.State != smol.StateRunning {
		t.Errorf("%+v, %v", info, err)
	}
	clock.Advance(time.Minute)
	if _, err := short.Info(ctx); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("the machine with a short life: %v", err)
	}
	if out, err := idle.Command("echo", "again").Output(ctx); err != nil || string(out) != "again\n" {
		t.Errorf("a stopped machine: %q, %v", out, err)
	}
}

// TestEphemeralIsReaped: the service deletes the machine between its creation and its start.
func TestEphemeralIsReaped(t *testing.T) {
	s := newStandIn(t, nil, simcloud.Options{ReapEphemeral: true, Sweep: -1})
	sweep := sync.OnceFunc(s.h.Server().Sweep)
	s.before = func(request string) {
		if strings.HasSuffix(request, "/start") {
			sweep()
		}
	}
	m := s.create(t, smol.Spec{Name: "once", Ephemeral: true})
	if n := s.sent("POST", "/v1/machines"); n != 2 {
		t.Errorf("%d creates", n)
	}
	if err := m.Stop(t.Context(), nil); err != nil {
		t.Error(err)
	}
	s.h.Server().Sweep()
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
