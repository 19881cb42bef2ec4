package smol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
)

var sentinels = []error{
	smol.ErrNotFound, smol.ErrExists, smol.ErrConflict, smol.ErrInvalid, smol.ErrUnauthenticated, smol.ErrPermission,
	smol.ErrRateLimited, smol.ErrUnavailable, errors.ErrUnsupported, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission,
}

func TestErrorIs(t *testing.T) {
	tests := []struct {
		code smol.Code
		path string
		want []error
	}{
		{smol.CodeNotFound, "", []error{smol.ErrNotFound}},
		{smol.CodeNotFound, "/f", []error{smol.ErrNotFound, fs.ErrNotExist}},
		{smol.CodeExists, "", []error{smol.ErrExists}},
		{smol.CodeExists, "/f", []error{smol.ErrExists, fs.ErrExist}},
		{smol.CodeConflict, "", []error{smol.ErrConflict}},
		{smol.CodeInvalid, "", []error{smol.ErrInvalid}},
		{smol.CodeUnauthenticated, "", []error{smol.ErrUnauthenticated}},
		{smol.CodePermissionDenied, "", []error{smol.ErrPermission, fs.ErrPermission}},
		{smol.CodeRateLimited, "", []error{smol.ErrRateLimited}},
		{smol.CodeUnavailable, "", []error{smol.ErrUnavailable}},
		{smol.CodeUnsupported, "", []error{errors.ErrUnsupported}},
		{smol.CodeInternal, "", nil},
		{smol.CodeUnknown, "", nil},
		{"of a newer version", "", nil},
	}
	for _, tt := range tests {
		err := fmt.Errorf("wrapped: %w", &smol.Error{Code: tt.code, Path: tt.path})
		for _, s := range sentinels {
			want := false
			for _, w := range tt.want {
				want = want || w == s
			}
			if got := errors.Is(err, s); got != want {
				t.Errorf("%s, path %q: matches %v: %v, want %v", tt.code, tt.path, s, got, want)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&smol.Error{Op: "create", Machine: "web", Code: smol.CodeExists, Message: "taken"}, "smol: create web: taken (already_exists)"},
		{&smol.Error{Op: "read file", Machine: "web", Path: "/f", Code: smol.CodeNotFound, Message: "none"}, "smol: read file web /f: none (not_found)"},
		{&smol.Error{Code: smol.CodeUnknown, Err: errors.New("boom")}, "smol: boom (unknown)"},
		{
			&smol.Error{Op: "run", Code: smol.CodeUnknown, Err: &smol.Error{Op: "exec", Code: smol.CodeUnknown, Message: "x"}},
			"smol: run: exec: x (unknown) (unknown)",
		},
		{&smol.StateError{Op: "run", Machine: "web", Want: "running", Got: "paused"}, "smol: run web: machine is paused, not running"},
		{
			&smol.StateError{Op: "run", Machine: "web", Want: "running", Got: "failed", Reason: "no KVM"},
			"smol: run web: machine is failed, not running: no KVM",
		},
		{&smol.ExitError{Code: 2}, "exit status 2"},
		{&smol.ExitError{Code: 143, Signal: smol.Terminate}, "signal: TERM"},
		{&smol.ExitError{Code: 124, TimedOut: true}, "timed out"},
		{&smol.ExitError{Code: 124, TimedOut: true, Timeout: time.Minute}, "timed out after 1m0s"},
		{&smol.StateError{Machine: "m", Want: smol.StateRunning, Got: smol.StateStopped}, "smol: m: machine is stopped, not running"},
		{&smol.Error{Op: "write file", Machine: "m", Path: "/x", Code: smol.CodeUnknown, Err: errors.New("smol: write file m: no")}, "smol: write file m /x: no (unknown)"},
		{&smol.Error{Code: smol.CodeUnknown}, "smol:  (unknown)"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestErrorLogValue(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, nil))
	log.Info("x", "err", &smol.Error{
		Op: "create", Machine: "web", Path: "/f", Code: smol.CodeExists, Message: "taken", Hint: "choose another", Status: 409,
		ServerCode: "CONFLICT", RequestID: "abc", Err: errors.New("cause"),
	})
	for _, want := range []string{
		"err.op=create", "err.machine=web", "err.path=/f", "err.code=already_exists", "err.message=taken", `err.hint="choose another"`,
		"err.status=409", "err.server_code=CONFLICT", "err.request_id=abc", "err.cause=cause",
	} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("%s is not in %s", want, &buf)
		}
	}
	buf.Reset()
	log.Info("x", "err", &smol.Error{Code: smol.CodeUnknown})
	if got := strings.TrimSpace(buf.String()[strings.Index(buf.String(), "err."):]); got != "err.code=unknown" {
		t.Errorf("an error with nothing but its code logs %q", got)
	}
}

// TestErrorsKeepTheirCause: whatever a backend returns, the caller gets one of the library's errors with the cause in it.
func TestErrorsKeepTheirCause(t *testing.T) {
	odd := errors.New("out of a hat")
	tests := []struct {
		name string
		err  error
		is   []error
		text string
	}{
		{"an Error", &smol.Error{Op: "GET", Code: smol.CodePermissionDenied, Message: "no"}, []error{smol.ErrPermission}, "smol: inspect web: no (permission_denied)"},
		{"wrapped", fmt.Errorf("%w: %w", odd, &smol.Error{Code: smol.CodeConflict, Message: "no"}), []error{odd, smol.ErrConflict}, "smol: inspect web: out of a hat: smol: no (conflict) (conflict)"},
		{"a StateError", &smol.StateError{Want: "running", Got: "frozen"}, []error{smol.ErrConflict}, "smol: inspect web: machine is frozen, not running"},
		{"a wrapped StateError", fmt.Errorf("%w: %w", odd, &smol.StateError{Want: "running", Got: "frozen", Hint: "h"}), []error{odd, smol.ErrConflict}, "out of a hat"},
		{"a context's", fmt.Errorf("get: %w", context.DeadlineExceeded), []error{context.DeadlineExceeded}, "smol: inspect web: get: context deadline exceeded"},
		{"another", odd, []error{odd}, "smol: inspect web: out of a hat (unknown)"},
	}
	for _, tt := range tests {
		f, m := newFakeMachine()
		f.before = func(context.Context, string) error { return tt.err }
		_, err := m.Info(t.Context())
		for _, want := range tt.is {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v does not match %v", tt.name, err, want)
			}
		}
		if !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %q, want %q", tt.name, err, tt.text)
		}
	}
}

func TestSignalNumbers(t *testing.T) {
	seen := map[int]smol.Signal{}
	for _, s := range []smol.Signal{
		smol.Interrupt, smol.Terminate, smol.Kill, smol.Hangup, smol.Quit, smol.User1, smol.User2, smol.Stop, smol.Continue,
	} {
		n := s.Number()
		if n == 0 || seen[n] != "" {
			t.Errorf("%s has the number %d, as %q", s, n, seen[n])
		}
		seen[n] = s
	}
	if n := smol.Signal("SIGTERM").Number(); n != 0 {
		t.Errorf("a name that is none has the number %d", n)
	}
}

// A reference that no machine can have is shown, but not as it is.
func TestErrorShowsReference(t *testing.T) {
	f := smol.NewFleet(newFake())
	for _, ref := range []string{strings.Repeat("x", 1<<20), "a\x00b", "a\xffb", "../x"} {
		_, err := f.Machine(ref).Info(t.Context())
		if !errors.Is(err, smol.ErrInvalid) || len(err.Error()) > 400 || strings.ContainsRune(err.Error(), 0) || !utf8.ValidString(err.Error()) {
			t.Errorf("%.20q: %.400v", ref, err)
		}
	}
}
