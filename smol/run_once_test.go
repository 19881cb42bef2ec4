package smol_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

func TestRunOnce(t *testing.T) {
	l := smoltest.NewLocal(t, nil)
	fleet := l.Service(t).Fleet
	var streamed bytes.Buffer
	tests := []struct {
		name string
		argv []string
		opts *smol.RunOnceOptions
		code int
		out  string
		err  string
	}{
		{name: "success", argv: []string{"echo", "hi"}, out: "hi\n"},
		{name: "failure", argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}, code: 3, out: "out\n", err: "err\n"},
		{
			name: "everything", argv: []string{"sh", "-c", `cat; echo "$A $PWD" >&2`}, err: "1 /tmp\n",
			opts: &smol.RunOnceOptions{Stdin: strings.NewReader("in"), Stdout: &streamed, Env: []string{"A=1"}, Dir: "/tmp"},
		},
		{name: "time-out", argv: []string{"sleep", "100"}, opts: &smol.RunOnceOptions{Timeout: time.Second / 2}, code: 124},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := fleet.RunOnce(t.Context(), smol.Spec{}, tt.argv, tt.opts)
			var exit *smol.ExitError
			if (tt.code != 0) != errors.As(err, &exit) || tt.code == 0 && err != nil {
				t.Fatalf("got %v", err)
			}
			if string(res.Stdout) != tt.out || string(res.Stderr) != tt.err || res.State.ExitCode != tt.code || res.Machine == "" {
				t.Errorf("got %+v", res)
			}
		})
	}
	if streamed.String() != "in" {
		t.Errorf("streamed %q", &streamed)
	}
	wantNoMachines(t, fleet)
}

func wantNoMachines(t *testing.T, fleet *smol.Fleet) {
	t.Helper()
	for info, err := range fleet.List(t.Context(), nil) {
		t.Errorf("left: %+v (%v)", info, err)
	}
}

// TestRunOnceLeavesNothing: the machine goes whatever happens.
func TestRunOnceLeavesNothing(t *testing.T) {
	l := smoltest.NewLocal(t, nil)
	fleet := l.Service(t).Fleet
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancels := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
		_, err := fleet.RunOnce(ctx, smol.Spec{}, []string{"sh", "-c", "echo hi; sleep 100"}, &smol.RunOnceOptions{Stdout: cancels})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("writer panics", func(t *testing.T) {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		panics := writerFunc(func([]byte) (int, error) { panic("mine") })
		_, err := fleet.RunOnce(t.Context(), smol.Spec{}, []string{"echo"}, &smol.RunOnceOptions{Stdout: panics})
		t.Errorf("returned %v", err)
	})
	t.Run("writer fails", func(t *testing.T) {
		full := errors.New("disk full")
		_, err := fleet.RunOnce(t.Context(), smol.Spec{}, []string{"echo"}, &smol.RunOnceOptions{Stdout: &errorWriter{err: full}})
		if !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("not created", func(t *testing.T) {
		_, err := fleet.RunOnce(t.Context(), smol.Spec{Image: "missing", Network: smol.Network{Open: true}}, []string{"echo"}, nil)
		if err == nil {
			t.Error("no error")
		}
	})
	wantNoMachines(t, fleet)
	l.ForgetRequests()
	for _, argv := range [][]string{nil, {""}, {"a", "\x00"}} {
		if _, err := fleet.RunOnce(t.Context(), smol.Spec{}, argv, nil); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%q: got %v", argv, err)
		}
	}
	wantNoRequests(t, l)
}

// TestRunOnceDeleteFails: both failures are told.
func TestRunOnceDeleteFails(t *testing.T) {
	f := newFake()
	f.command = answers(3, "", "")
	stuck := &smol.Error{Code: smol.CodeConflict, Status: 409, Message: "still alive"}
	f.before = func(_ context.Context, call string) error {
		if strings.HasPrefix(call, "delete") {
			return stuck
		}
		return nil
	}
	_, err := smol.NewFleet(f).RunOnce(t.Context(), smol.Spec{}, []string{"prog"}, nil)
	var exit *smol.ExitError
	if !errors.As(err, &exit) || !errors.Is(err, smol.ErrConflict) {
		t.Errorf("got %v, want both", err)
	}
}
