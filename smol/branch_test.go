package smol_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

func TestBranch(t *testing.T) {
	a, m := newAble()
	child, err := m.Branch(t.Context(), "try-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if child.Name() != "try-2" || child.Fleet() != m.Fleet() {
		t.Errorf("got %q", child.Name())
	}
	if a.count("exec") != 1 {
		t.Errorf("%d execs, want one that shows that the branch runs commands", a.count("exec"))
	}
}

func TestBranchUnready(t *testing.T) {
	a, m := newAble()
	if _, err := m.Branch(t.Context(), "try-2", &smol.BranchOptions{Unready: true}); err != nil {
		t.Fatal(err)
	}
	if n := a.count("exec"); n != 0 {
		t.Errorf("%d execs in a branch that nobody waits for", n)
	}
}

func TestBranchRefused(t *testing.T) {
	_, bare := newFakeMachine()
	_, able := newAble()
	stopped, m := newAble()
	stopped.set("web", smol.StateStopped)
	tests := []struct {
		name  string
		m     *smol.Machine
		child string
		opts  *smol.BranchOptions
		want  error
		text  string
	}{
		{"fleet", bare, "c", nil, errors.ErrUnsupported, "fake fleet has no branches"},
		{"stopped", m, "c", nil, smol.ErrConflict, "machine is stopped"},
		{"no name", able, "", nil, smol.ErrInvalid, "child is empty"},
		{"name", able, "a/b", nil, smol.ErrInvalid, "child"},
		{"dots", able, "..", nil, smol.ErrInvalid, "child"},
		{"taken", able, "web", nil, smol.ErrExists, ""},
		{"port", able, "c", &smol.BranchOptions{Ports: []smol.Port{{Guest: 0}}}, smol.ErrInvalid, "BranchOptions.Ports[0].Guest"},
		{"label", able, "c", &smol.BranchOptions{Labels: map[string]string{"=": ""}}, smol.ErrInvalid, "BranchOptions.Labels"},
	}
	for _, tt := range tests {
		c, err := tt.m.Branch(t.Context(), tt.child, tt.opts)
		if c != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestBranchAfterRestart: what a machine was created as it is started as, by whatever starts it.
func TestBranchAfterRestart(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	svc := l.Service(t)
	for name, start := range map[string]func(m *smol.Machine) error{
		"start":   func(m *smol.Machine) error { return m.Start(t.Context(), nil) },
		"command": func(m *smol.Machine) error { _, err := m.Command("nothing").Output(t.Context()); return exited(err) },
	} {
		m, err := svc.Create(t.Context(), smol.Spec{Name: name, Branchable: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Discard()
		if err := m.Stop(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := start(m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := m.Info(t.Context()); err != nil || !info.Branchable {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		child, err := m.Branch(t.Context(), name+"-2", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := child.Discard(); err != nil {
			t.Error(err)
		}
	}
}

// exited leaves out of err that a command ran and failed.
func exited(err error) error {
	var exit *smol.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// TestBranchFailsLater: a branch that cannot be used is deleted, and one whose announcement got lost is found.
func TestBranchFailsLater(t *testing.T) {
	a, m := newAble()
	a.after = at("branch c", 1, fails(errLost))
	if c, err := m.Branch(t.Context(), "c", nil); err != nil || c.Name() != "c" || a.count("branch") != 1 {
		t.Errorf("announcement lost: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.before = at("exec plain", 1, func(ctx context.Context) error { cancel(); return ctx.Err() })
	if _, err := m.Branch(ctx, "d", nil); !errors.Is(err, context.Canceled) || a.has("d") {
		t.Errorf("cancelled: %v, exists %v", err, a.has("d"))
	}
	a.before = each("exec plain", &smol.Error{Code: smol.CodePermissionDenied, Status: 403})
	if _, err := m.Branch(t.Context(), "e", nil); !errors.Is(err, smol.ErrPermission) || a.has("e") {
		t.Errorf("refused: %v, exists %v", err, a.has("e"))
	}
	if !a.has("web") {
		t.Error("the source is gone")
	}
}
