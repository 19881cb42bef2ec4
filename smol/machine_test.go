package smol_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

func TestHandle(t *testing.T) {
	f := newFake()
	f.add(smol.Info{Name: "web", ID: "mach-1", State: smol.StateRunning})
	fleet := smol.NewFleet(f)
	m := fleet.Machine("web")
	if m.Name() != "web" || m.ID() != "" || m.Fleet() != fleet || fleet.Backend() != smol.Backend(f) {
		t.Errorf("fresh handle: name %q, id %q", m.Name(), m.ID())
	}
	f.wantCalls(t)
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&smol.Info{Name: "web", ID: "mach-1", State: smol.StateRunning}, info); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.ID() != "mach-1" || fleet.Machine("mach-1").Name() != "mach-1" {
		t.Errorf("id %q", m.ID())
	}
	if err := m.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	f.wantCalls(t, "inspect web", "stop mach-1", "start mach-1")
}

// TestRecreatedName: a name that another machine has by now means that one for reads, and nothing else.
func TestRecreatedName(t *testing.T) {
	tests := []struct {
		name string
		do   func(context.Context, *smol.Machine) error
		want error
	}{
		{"info", func(ctx context.Context, m *smol.Machine) error { _, err := m.Info(ctx); return err }, nil},
		{"command", func(ctx context.Context, m *smol.Machine) error { return m.Command("p").Run(ctx) }, smol.ErrNotFound},
		{"delete", func(ctx context.Context, m *smol.Machine) error { return m.Delete(ctx, nil) }, smol.ErrNotFound},
		{"discard", func(_ context.Context, m *smol.Machine) error { return m.Discard() }, nil},
		{"stop", func(ctx context.Context, m *smol.Machine) error { return m.Stop(ctx, nil) }, smol.ErrNotFound},
		{"start", func(ctx context.Context, m *smol.Machine) error { return m.Start(ctx, nil) }, smol.ErrNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.add(smol.Info{Name: "web", ID: "mach-1", State: smol.StateRunning})
			m := smol.NewFleet(f).Machine("web")
			if _, err := m.Info(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := f.Delete(t.Context(), "mach-1", nil); err != nil {
				t.Fatal(err)
			}
			f.add(smol.Info{Name: "web", ID: "mach-2", State: smol.StateRunning})
			if err := tt.do(t.Context(), m); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if !f.has("mach-2") || f.ran() > 0 || f.count("stop mach-2")+f.count("start mach-2") > 0 {
				t.Error("the other machine was touched")
			}
			if tt.want == nil && tt.name == "info" && m.ID() != "mach-2" {
				t.Errorf("id %q after a read, want that of the other machine", m.ID())
			}
		})
	}
}

func TestMissingMachine(t *testing.T) {
	fleet := smol.NewFleet(newFake())
	m := fleet.Machine("nobody")
	if _, err := m.Info(t.Context()); !errors.Is(err, smol.ErrNotFound) || !strings.Contains(err.Error(), "inspect nobody") {
		t.Errorf("got %v", err)
	}
	if err := m.Delete(t.Context(), nil); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
	if err := m.Discard(); err != nil {
		t.Errorf("discard: %v", err)
	}
	if err := m.WaitReady(t.Context(), nil); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("wait: %v", err)
	}
}

// TestDiscardIsBounded: it needs no context of its caller's, and does not hang.
func TestDiscardIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFakeMachine()
		f.before = func(ctx context.Context, call string) error {
			if strings.HasPrefix(call, "delete") {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		began := time.Now()
		if err := m.Discard(); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// TestDiscardAnswerLost: the machine goes all the same, and never another one that has its name by then.
func TestDiscardAnswerLost(t *testing.T) {
	at10, at20 := time.Unix(10, 0), time.Unix(20, 0)
	tests := []struct {
		name          string
		before, after func(context.Context, string) error
		recreated     bool
		want          error
		deletes       int
		left          bool
	}{
		{name: "after the work", after: each("delete web", errLost), deletes: 1},
		{name: "before the work", before: at("delete web", 1, fails(errLost)), deletes: 2},
		{name: "again and again", before: each("delete web", errLost), want: smol.ErrUnavailable, deletes: 3, left: true},
		{name: "recreated", after: each("delete web", errLost), recreated: true, deletes: 1, left: true},
		{name: "refused", before: each("delete web", &smol.Error{Code: smol.CodeConflict, Status: 409}), want: smol.ErrConflict, deletes: 1, left: true},
		{name: "not dialled", before: each("delete web", &smol.Error{Code: smol.CodeUnavailable, Err: &netOpError}), want: smol.ErrUnavailable, deletes: 1, left: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.add(smol.Info{Name: "web", ID: "web", State: smol.StateRunning, CreatedAt: at10})
				f.before, f.after = tt.before, tt.after
				if tt.recreated {
					f.after = func(ctx context.Context, call string) error {
						if call == "delete web" {
							f.add(smol.Info{Name: "web", ID: "web", State: smol.StateRunning, CreatedAt: at20})
						}
						return tt.after(ctx, call)
					}
				}
				m := smol.NewFleet(f).Machine("web")
				if err := m.Discard(); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if n := f.count("delete"); n != tt.deletes || f.has("web") != tt.left {
					t.Errorf("%d deletes, want %d; machine there: %v, want %v", n, tt.deletes, f.has("web"), tt.left)
				}
			})
		})
	}
}

func TestHostileReference(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	fleet := l.Service(t).Fleet
	for _, ref := range []string{"", ".", "..", "a/b", "../images/x", strings.Repeat("a", 129), "a\x00", "a=b", "a b", "\xff", "-a", "a?b", "a#b", "a%2f"} {
		m := fleet.Machine(ref)
		for op, do := range map[string]func() error{
			"info":    func() error { _, err := m.Info(t.Context()); return err },
			"command": func() error { return m.Command("p").Run(t.Context()) },
			"delete":  func() error { return m.Delete(t.Context(), nil) },
			"start":   func() error { return m.Start(t.Context(), nil) },
			"stop":    func() error { return m.Stop(t.Context(), nil) },
			"wait":    func() error { return m.WaitReady(t.Context(), nil) },
		} {
			if err := do(); !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "machine reference") {
				t.Errorf("%s of %q: got %v, want an invalid error that names the reference", op, ref, err)
			}
		}
	}
	wantNoRequests(t, l)
}

func TestList(t *testing.T) {
	f := newFake()
	f.add(smol.Info{Name: "a", ID: "a"})
	f.add(smol.Info{Name: "b", ID: "b"})
	fleet := smol.NewFleet(f)
	seq := fleet.List(t.Context(), nil)
	for range 2 {
		names := map[string]bool{}
		for info, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			names[info.Name] = true
		}
		if !names["a"] || !names["b"] || len(names) != 2 {
			t.Errorf("got %v", names)
		}
	}
	for range seq {
		break
	}
	f.before = each("list", errLost)
	n := 0
	for info, err := range seq {
		n++
		if info != nil || !errors.Is(err, smol.ErrUnavailable) || !strings.Contains(err.Error(), "list") {
			t.Errorf("got %v and %v", info, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors, want 1", n)
	}
}
