package local_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

const healthy = `{"status":"ok","version":"1.14.5","machines":{"total":3,"running":1},"uptime_seconds":12}`

// TestRestart takes the service away and brings it back while a call is waiting for it.
func TestRestart(t *testing.T) {
	s := &server{t: t}
	l := s.listenOn("tcp", "127.0.0.1:0")
	srv := s.run(l, says(healthy))
	b := s.backend()
	if _, err := b.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := b.Health(t.Context())
		result <- err
	}()
	<-time.After(100 * time.Millisecond) // some attempts are refused
	s.run(s.listenOn("tcp", l.Addr().String()), says(healthy))
	if err := <-result; err != nil {
		t.Errorf("the call did not survive the restart: %v", err)
	}
}

// TestStartWindow waits for a service that has never been there, because it was asked to.
func TestStartWindow(t *testing.T) {
	s := &server{t: t}
	l := s.listen()
	address := l.Addr().String()
	_ = l.Close()
	b, err := local.NewBackend(&local.Options{URL: s.url, StartWindow: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	result := make(chan error, 1)
	go func() {
		_, err := b.Health(t.Context())
		result <- err
	}()
	<-time.After(50 * time.Millisecond)
	s.run(s.listenOn(l.Addr().Network(), address), says(healthy))
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestStartWindowEndsWithTheContext(t *testing.T) {
	s := &server{t: t}
	_ = s.listen().Close()
	b, err := local.NewBackend(&local.Options{URL: s.url, StartWindow: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := b.Health(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestPatience(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
	missing := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ENOENT}}
	denied := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.EACCES}}
	full := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.EAGAIN}}
	for _, tt := range []struct {
		name    string
		window  time.Duration
		reached bool
		err     error
		want    time.Duration
	}{
		{"never there", 0, false, missing, 0},
		{"left over", 0, false, refused, 0},
		{"restarting", 0, true, missing, 5 * time.Second},
		{"restarting, socket there", 0, true, refused, 5 * time.Second},
		{"asked to wait", time.Minute, false, missing, time.Minute},
		{"asked not to", -1, true, refused, 0},
		{"no permission", time.Minute, true, denied, 0},
		{"queue full", 0, false, full, 7 * time.Second},
	} {
		if got := local.Patience(tt.window, tt.reached, tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestGivenUp wants a service that was waited for in vain not to be waited for again by each call.
func TestGivenUp(t *testing.T) {
	s := &server{t: t}
	l := s.listen()
	srv := s.run(l, says(healthy))
	b, err := local.NewBackend(&local.Options{URL: s.url, StartWindow: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if _, err := b.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = srv.Close()
	if _, err := b.Health(t.Context()); !errors.Is(err, smol.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "unix", Err: err} }
	for _, tt := range []struct {
		name, url string
		err       error
		code      smol.Code
		message   string
		hint      string
	}{
		{"permission", "/run/s.sock", op(os.NewSyscallError("connect", syscall.EACCES)), smol.CodePermissionDenied, "no permission to use unix:///run/s.sock", "as the user who runs smolvm"},
		{"missing", "/run/s.sock", op(os.NewSyscallError("connect", syscall.ENOENT)), smol.CodeUnavailable, "no such socket", "smolvm serve start -l unix:///run/s.sock"},
		{"left over", "/run/s.sock", op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), smol.CodeUnavailable, "left over", "smolvm serve start"},
		{"nobody", "127.0.0.1:9", op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), smol.CodeUnavailable, "nobody serves at http://127.0.0.1:9", "-l 127.0.0.1:9"},
		{"slow", "127.0.0.1:9", op(timeout{}), smol.CodeUnavailable, "within 7s", "hangs"},
		{"odd", "127.0.0.1:9", op(errors.New("odd")), smol.CodeUnavailable, "odd", ""},
	} {
		if runtime.GOOS == "windows" && strings.HasPrefix(tt.url, "/") {
			continue
		}
		e := asError(t, local.ExplainDial(tt.url, tt.err))
		if e.Code != tt.code || !strings.Contains(e.Message, tt.message) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s: %+v", tt.name, e)
		}
		var dial *net.OpError
		if errors.Is(e, context.DeadlineExceeded) || !errors.As(e, &dial) {
			t.Errorf("%s: cause %v", tt.name, e.Err)
		}
		if tt.code == smol.CodePermissionDenied && !errors.Is(e, fs.ErrPermission) {
			t.Errorf("%s is no fs.ErrPermission", tt.name)
		}
	}
}

// timeout is the error of package net for a dial that took too long.
type timeout struct{}

func (timeout) Error() string     { return "i/o timeout" }
func (timeout) Timeout() bool     { return true }
func (timeout) Temporary() bool   { return true }
func (timeout) Is(err error) bool { return err == context.DeadlineExceeded }

// TestWrap wants the caller's transport around ours, and nothing of the caller's changed.
func TestWrap(t *testing.T) {
	s := serve(t, answers{"GET /health": says(healthy)})
	var seen []string
	b, err := local.NewBackend(&local.Options{URL: s.url, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Method+" "+r.URL.Path)
			return next.RoundTrip(r)
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Health(t.Context()); err != nil || len(seen) != 1 || seen[0] != "GET /health" {
		t.Errorf("error %v, seen %q", err, seen)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
