package local_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// supervise returns a supervisor that can start nothing, and looks at the addresses.
func supervise(t *testing.T, url string, adopt ...string) *local.Supervisor {
	t.Helper()
	dir := filepath.Dir(socketPath(t))
	sup, err := local.Supervise(&local.ServeOptions{URL: url, Adopt: adopt, Dir: filepath.Join(dir, "run"), Program: filepath.Join(dir, "smolvm"), Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return sup
}

// TestSupervisedMoves takes the service away from one address and brings one to another. A call finds it; a service that is closed looks no more.
func TestSupervisedMoves(t *testing.T) {
	t.Parallel()
	first, second := &server{t: t}, &server{t: t}
	l := first.listen()
	srv := first.run(l, says(healthy))
	placeOfSecond := second.listen()
	address := placeOfSecond.Addr()
	_ = placeOfSecond.Close()

	sup := supervise(t, first.url, second.url)
	svc, other := sup.Service(), sup.Service()
	if svc.URL() != "" {
		t.Errorf("before any call it uses %s", svc.URL())
	}
	if _, err := svc.Health(t.Context()); err != nil || svc.URL() != first.url || other.URL() != first.url {
		t.Errorf("uses %q and %q: %v", svc.URL(), other.URL(), err)
	}
	_ = srv.Close()
	_ = os.Remove(strings.TrimPrefix(first.url, "unix://"))
	_, err := svc.Health(t.Context())
	if e := asError(t, err); !errors.Is(err, local.ErrNotServed) || e.Code != smol.CodeUnavailable || e.Op != "health" || e.Hint == "" {
		t.Errorf("with no service: %+v", e)
	}
	if err := sup.Check(t.Context()); !errors.Is(err, local.ErrNotServed) || asError(t, err).Op != "check" {
		t.Errorf("check: %v", err)
	}
	second.run(second.listenOn(address.Network(), address.String()), says(healthy))
	if _, err := svc.Health(t.Context()); err != nil || svc.URL() != second.url {
		t.Errorf("uses %q: %v", svc.URL(), err)
	}
	if err := sup.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	for range 2 {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := svc.Health(t.Context()); !errors.Is(err, local.ErrNotServed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := other.Health(t.Context()); err != nil {
		t.Errorf("the other service: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// TestNotServed wants a create that finds no service to say so, and to know that nothing was sent.
func TestNotServed(t *testing.T) {
	t.Parallel()
	svc := supervise(t, "").Service()
	defer svc.Close()
	_, err := svc.Create(t.Context(), smol.Spec{Name: "m"}, nil)
	e := asError(t, err)
	var dial *net.OpError
	if !errors.Is(err, local.ErrNotServed) || !errors.Is(err, smol.ErrUnavailable) || !errors.As(err, &dial) || e.Op != "create" {
		t.Errorf("got %+v", e)
	}
	if _, err := svc.Health(cancelled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSuperviseTooOld wants the release looked at wherever a service is found.
func TestSuperviseTooOld(t *testing.T) {
	t.Parallel()
	s := serve(t, answers{"GET /health": says(healthy)})
	sup, err := local.Supervise(&local.ServeOptions{URL: s.url, MinVersion: "1.14.6"})
	if err != nil {
		t.Fatal(err)
	}
	svc := sup.Service()
	defer svc.Close()
	for _, err := range []error{sup.Check(t.Context()), func() error { _, err := svc.Health(t.Context()); return err }()} {
		if e := asError(t, err); !errors.Is(err, local.ErrTooOld) || errors.Is(err, local.ErrNotServed) || e.Code != smol.CodeUnsupported {
			t.Errorf("got %+v", e)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"healthy":   {says(healthy), ""},
		"not ready": {says(`{"status":"starting","version":"1.14.5"}`), `"starting"`},
		"not it":    {says(`{}`), "not that of smolvm"},
		"failing":   {fails(500, "INTERNAL_ERROR", "broken"), "broken"},
		"page":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "html"},
		"cut":       {hangsUp, ""},
	} {
		version, err := local.Probe(t.Context(), serve(t, answers{"GET /health": tt.answer}).url)
		if (err == nil) != (name == "healthy") || err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && version != "1.14.5" {
			t.Errorf("%s: %q, %v", name, version, err)
		}
	}
}

func TestServeOptions(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("x", 120)
	for name, o := range map[string]*local.ServeOptions{
		"URL":          {URL: "http://192.168.1.2:8080"},
		"Adopt[1]":     {Adopt: []string{"127.0.0.1:80", "0.0.0.0:80"}},
		"MinVersion":   {MinVersion: "new"},
		"StartTimeout": {StartTimeout: -time.Second},
		"StopTimeout":  {StopTimeout: -1},
		"Dir":          {Dir: long},
		"Dir cannot":   {Dir: "/a\x00b"},
	} {
		if _, err := local.Supervise(o); runtime.GOOS == "windows" && strings.HasPrefix(name, "Dir") {
			continue
		} else if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := local.Supervise(nil); err != nil {
		t.Error(err)
	}
	env := local.ServeOptionsFromEnv()
	if env.Dir == "" || len(env.Env) != len(os.Environ()) || env.MinVersion != "" {
		t.Errorf("from the environment: %+v", env)
	}
}

// TestServePlaces is where a serve is looked for and kept on the three systems.
func TestServePlaces(t *testing.T) {
	t.Parallel()
	disk := filepath.VolumeName(t.TempDir()) // what is absolute is so on this host
	xdg := func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": disk + "/run/user/7"}[name] }
	none := func(string) string { return "" }
	relative := func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": "run/user"}[name] }
	long := func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": disk + "/" + strings.Repeat("x", 200)}[name]
	}
	for _, tt := range []struct {
		goos   string
		getenv func(string) string
		dir    string
		usual  []string
	}{
		{"linux", xdg, disk + "/run/user/7/smol-mcp", []string{"unix://" + disk + "/run/user/7/smolvm.sock", "unix:///tmp/smolvm.sock"}},
		{"linux", none, "/temp/smol-mcp-7", []string{"unix:///tmp/smolvm.sock"}},
		{"linux", relative, "/temp/smol-mcp-7", []string{"unix:///tmp/smolvm.sock"}},
		{"linux", long, long("XDG_RUNTIME_DIR") + "/smol-mcp", []string{"unix:///tmp/smolvm.sock"}},
		{"darwin", none, "/temp/smol-mcp-7", []string{"unix:///tmp/smolvm.sock"}},
		{"windows", xdg, disk + "/cache/smol-mcp", []string{"http://127.0.0.1:8080"}},
	} {
		if got := filepath.ToSlash(local.RuntimeDir(tt.goos, tt.getenv, "/temp", disk+"/cache", 7)); got != tt.dir {
			t.Errorf("%s: runtime directory %s, want %s", tt.goos, got, tt.dir)
		}
		usual := local.UsualFor(tt.goos, tt.getenv)
		for i := range usual {
			usual[i] = filepath.ToSlash(usual[i])
		}
		if diff := cmp.Diff(tt.usual, usual); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.goos, diff)
		}
	}
}

// TestForeignListener wants a connection that another user accepted told by name.
func TestForeignListener(t *testing.T) {
	e := asError(t, local.ExplainDial("127.0.0.1:9", &net.OpError{Op: "dial", Net: "unix", Err: local.ErrForeign}))
	if e.Code != smol.CodePermissionDenied || !strings.Contains(e.Message, "neither this user's nor root's") {
		t.Errorf("got %+v", e)
	}
}
