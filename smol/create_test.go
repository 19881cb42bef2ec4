package smol_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// at returns a hook that does something at the n-th call of that name.
func at(call string, n int, do func(context.Context) error) func(context.Context, string) error {
	return func(ctx context.Context, c string) error {
		if c == call || strings.HasSuffix(call, "*") && strings.HasPrefix(c, strings.TrimSuffix(call, "*")) {
			if n--; n == 0 {
				return do(ctx)
			}
		}
		return nil
	}
}

func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestCreate(t *testing.T) {
	f := newFake()
	m, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Name: "web", Image: "alpine:3.20"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "web" || m.ID() != "web" {
		t.Errorf("name %q and id %q, want web", m.Name(), m.ID())
	}
	f.wantCalls(t, "create web", "start web", "inspect web", "exec setup")
}

func TestCreateGeneratesName(t *testing.T) {
	fleet := smol.NewFleet(newFake())
	names := map[string]bool{}
	for range 3 {
		m, err := fleet.Create(t.Context(), smol.Spec{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^smol-[0-9a-f]{12}$`).MatchString(m.Name()) {
			t.Errorf("generated name %q", m.Name())
		}
		names[m.Name()] = true
	}
	if len(names) != 3 {
		t.Errorf("names repeat: %v", names)
	}
}

func TestCreateRefusesBeforeSending(t *testing.T) {
	f := newFake()
	_, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Name: "a/b"}, nil)
	if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "Spec.Name") {
		t.Errorf("got %v, want an invalid error that names Spec.Name", err)
	}
	f.wantCalls(t)
}

// TestCreateAnswerLost: the machine is looked up by name, and never asked for twice.
func TestCreateAnswerLost(t *testing.T) {
	refused := &smol.Error{Code: smol.CodeUnavailable, Err: &netOpError}
	old := smol.Info{Name: "web", ID: "web", State: smol.StateRunning, CreatedAt: time.Now().Add(-time.Hour)}
	tests := []struct {
		name      string
		spec      string
		exists    *smol.Info
		before    error // the request is lost
		after     error // the reply is lost
		want      error // nil: the machine is there
		lookups   int   // of the name, after the create
		survivors int
	}{
		{name: "reply lost", spec: "web", after: errLost, lookups: 1, survivors: 1},
		{name: "reply lost, generated name", after: errLost, lookups: 1, survivors: 1},
		{name: "408", spec: "web", after: &smol.Error{Code: smol.CodeUnknown, Status: 408}, lookups: 1, survivors: 1},
		{name: "500 after the work", spec: "web", after: &smol.Error{Code: smol.CodeInternal, Status: 500}, lookups: 1, survivors: 1},
		{name: "reply cannot be read", spec: "web", after: &smol.Error{Code: smol.CodeUnknown, Status: 200}, lookups: 1, survivors: 1},
		{name: "request lost", spec: "web", before: errLost, want: errLost, lookups: 5},
		{name: "500 without work", spec: "web", before: &smol.Error{Code: smol.CodeInternal, Status: 500}, want: anyError, lookups: 5},
		{name: "not dialled", spec: "web", before: refused, want: syscall.ECONNREFUSED, lookups: 0},
		{name: "refused", spec: "web", before: &smol.Error{Code: smol.CodeInvalid, Status: 400}, want: smol.ErrInvalid},
		{name: "not allowed", spec: "web", before: &smol.Error{Code: smol.CodeUnauthenticated, Status: 401}, want: smol.ErrUnauthenticated},
		{name: "unsupported", spec: "web", before: &smol.Error{Code: smol.CodeUnsupported, Status: 501}, want: errors.ErrUnsupported},
		{name: "taken", spec: "web", exists: &old, want: smol.ErrExists, survivors: 1},
		{name: "taken, and the answer lost", spec: "web", exists: &old, after: errLost, want: smol.ErrExists, lookups: 1, survivors: 1},
		{
			name: "taken, of unknown age", spec: "web", exists: &smol.Info{Name: "web", ID: "web"}, after: errLost,
			want: smol.ErrExists, lookups: 1, survivors: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			if tt.exists != nil {
				f.add(*tt.exists)
			}
			if tt.before != nil {
				f.before = at("create*", 1, fails(tt.before))
			}
			if tt.after != nil {
				f.after = at("create*", 1, fails(tt.after))
			}
			lookups := -1
			starts := at("start*", 1, func(context.Context) error { lookups = f.count("inspect"); return nil })
			if tt.before == nil {
				f.before = starts
			}
			m, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Name: tt.spec}, nil)
			switch {
			case tt.want == nil && err != nil:
				t.Fatal(err)
			case tt.want == anyError && err == nil, tt.want != nil && tt.want != anyError && !is(err, tt.want):
				t.Fatalf("got %v and %v, want %v", m, err, tt.want)
			}
			if lookups < 0 {
				lookups = f.count("inspect")
			}
			if lookups != tt.lookups {
				t.Errorf("the name was looked up %d times, want %d", lookups, tt.lookups)
			}
			if n := f.count("create"); n != 1 {
				t.Errorf("asked %d times for a machine", n)
			}
			if n := len(f.machines); n != tt.survivors {
				t.Errorf("%d machines exist, want %d", n, tt.survivors)
			}
			if n := f.count("delete"); n != 0 {
				t.Errorf("%d machines were deleted", n)
			}
		})
	}
}

// TestCreateLookUpFails: whether there is a machine stays unknown, and the error tells both failures.
func TestCreateLookUpFails(t *testing.T) {
	f := newFake()
	f.after = func(_ context.Context, call string) error {
		switch {
		case strings.HasPrefix(call, "create"):
			return errLost
		case strings.HasPrefix(call, "inspect"):
			return &smol.Error{Code: smol.CodeUnauthenticated, Status: 401, Message: "token expired"}
		}
		return nil
	}
	_, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Name: "web"}, nil)
	if !is(err, errLost) || !errors.Is(err, smol.ErrUnauthenticated) {
		t.Errorf("got %v, want both failures", err)
	}
}

// TestCreateFailsLater: what came to exist is deleted, and both causes can be told.
func TestCreateFailsLater(t *testing.T) {
	broken := &smol.Error{Code: smol.CodeInternal, Status: 500, Message: "no KVM"}
	stuck := &smol.Error{Code: smol.CodeConflict, Status: 409, Message: "still alive"}
	tests := []struct {
		name    string
		before  func(context.Context, string) error
		want    []error
		remains bool
	}{
		{name: "start", before: at("start*", 1, fails(broken)), want: []error{broken}},
		{name: "state", before: func(_ context.Context, call string) error {
			if strings.HasPrefix(call, "exec") {
				return &smol.Error{Code: smol.CodeInvalid, Status: 400, Message: "mount validation failed"}
			}
			return nil
		}, want: []error{smol.ErrInvalid}},
		{name: "start, and delete", before: func(ctx context.Context, call string) error {
			switch call {
			case "start web":
				return broken
			case "delete web":
				return stuck
			}
			return nil
		}, want: []error{broken, smol.ErrConflict}, remains: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.before = tt.before
			m, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Name: "web"}, nil)
			if m != nil {
				t.Error("a machine was returned with the error")
			}
			for _, want := range tt.want {
				if !is(err, want) {
					t.Errorf("got %v, want it to match %v", err, want)
				}
			}
			if f.has("web") != tt.remains {
				t.Errorf("machine exists: %v, want %v", f.has("web"), tt.remains)
			}
		})
	}
}

// is reports whether err is want, matches it, or holds a copy of it with the operation added.
func is(err, want error) bool {
	var w *smol.Error
	if errors.Is(err, want) {
		return true
	}
	return err != nil && errors.As(want, &w) && strings.Contains(err.Error(), w.Message)
}

func TestCreateCancelled(t *testing.T) {
	for _, call := range []string{"create*", "start*", "inspect*", "exec setup"} {
		for _, when := range []string{"before", "after"} {
			t.Run(when+" "+call, func(t *testing.T) {
				f := newFake()
				ctx, cancel := context.WithCancelCause(t.Context())
				reason := errors.New("user pressed a key")
				hook := at(call, 1, func(ctx context.Context) error { cancel(reason); return ctx.Err() })
				if when == "before" {
					f.before = hook
				} else {
					f.after = hook
				}
				_, err := smol.NewFleet(f).Create(ctx, smol.Spec{}, nil)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want context.Canceled", err)
				}
				if n := len(f.machines); n != 0 {
					t.Errorf("%d machines are left", n)
				}
				if n := f.count("create"); n != 1 {
					t.Errorf("asked %d times for a machine", n)
				}
			})
		}
	}
}

func TestCreatePanicDeletes(t *testing.T) {
	f := newFake()
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{}, &smol.CreateOptions{OnState: func(smol.State) { panic("mine") }})
		t.Errorf("returned %v", err)
	}()
	if len(f.machines) != 0 {
		t.Error("the machine is left")
	}
}

func TestCreateNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.before = func(_ context.Context, call string) error {
			if call == "exec setup" {
				return errLost
			}
			return nil
		}
		began := time.Now()
		_, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Name: "web"}, &smol.CreateOptions{ReadyTimeout: 20 * time.Second})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "running") {
			t.Errorf("got %v, want context.DeadlineExceeded and the state", err)
		}
		if d := time.Since(began); d != 20*time.Second {
			t.Errorf("took %v", d)
		}
		if f.has("web") {
			t.Error("the machine is left")
		}
	})
}

// TestCreateRefusesWhatCannotBeStored: an environment that does not fit is refused before there is a machine.
func TestCreateRefusesWhatCannotBeStored(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"one":  {"A": strings.Repeat("x", 128<<10)},
		"many": {"A": strings.Repeat("x", 100<<10), "B": strings.Repeat("'", 100<<10), "C": strings.Repeat("x", 100<<10)},
	} {
		f := newFake()
		_, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Env: env}, nil)
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "Spec.Env") {
			t.Errorf("%s: got %v", name, err)
		}
		f.wantCalls(t)
		f.traits.KeepsEnv = true
		if _, err := smol.NewFleet(f).Create(t.Context(), smol.Spec{Env: env}, nil); err != nil {
			t.Errorf("%s, on a fleet that keeps it itself: %v", name, err)
		}
	}
}

// TestSpecIsCopied: the caller may go on writing what it gave.
func TestSpecIsCopied(t *testing.T) {
	f := newFake()
	spec := smol.Spec{Env: map[string]string{"A": "1"}}
	f.before = at("create*", 1, func(context.Context) error { spec.Env["A/"] = "2"; return nil })
	if _, err := smol.NewFleet(f).Create(t.Context(), spec, nil); err != nil {
		t.Errorf("a later change was seen: %v", err)
	}
}

var anyError = io.ErrUnexpectedEOF
