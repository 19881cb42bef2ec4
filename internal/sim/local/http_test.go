package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/seen"
)

func TestRouting(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"m"}`)
	trace := regexp.MustCompile(`^[0-9a-f]{8}` + fmt.Sprintf("%08x", os.Getpid()) + `$`)
	seen := map[string]bool{}
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/", 404, ""},
		{"GET", api + "/", 404, ""},
		{"GET", api + "/m/", 404, ""},
		{"GET", api + "//start", 404, ""},
		{"GET", "/health/", 404, ""},
		{"GET", "/api/v1/pools", 404, ""},
		{"PATCH", api, 405, "GET,HEAD,POST"},
		{"PUT", api + "/m", 405, "GET,HEAD,DELETE"},
		{"GET", api + "/m/exec", 405, "POST"},
		{"HEAD", api + "/m/start", 405, "POST"},
		{"POST", api + "/m/files/a", 405, "GET,HEAD,PUT"},
		{"HEAD", "/health", 200, ""},
		{"OPTIONS", "/nowhere", 200, ""},
		{"OPTIONS", api + "/m/exec", 200, ""},
		{"GET", api + "/%ff", 400, ""},
		{"GET", api + "/%6d", 200, ""},
	} {
		a := r.do(tt.method, tt.path, "")
		if a.status != tt.status || a.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d, Allow %q", tt.method, tt.path, a.status, a.header.Get("Allow"))
		}
		if empty := tt.status == 404 || tt.status == 405 || tt.method != "GET"; empty && a.body != "" {
			t.Errorf("%s %s: body %q", tt.method, tt.path, a.body)
		}
		id := a.header.Get("X-Trace-Id")
		if tt.method == "OPTIONS" {
			if id != "" {
				t.Errorf("OPTIONS with trace id %q", id)
			}
			continue
		}
		if !trace.MatchString(id) || seen[id] {
			t.Errorf("%s %s: trace id %q", tt.method, tt.path, id)
		}
		seen[id] = true
		if v := a.header.Get("Vary"); v != "origin, access-control-request-method, access-control-request-headers" {
			t.Errorf("%s %s: vary %q", tt.method, tt.path, v)
		}
	}
}

func TestPublishedPorts(t *testing.T) {
	r := newRig(t, local.Options{})
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := busy.Addr().(*net.TCPAddr).Port
	r.want(200, "", "POST", api, fmt.Sprintf(`{"name":"m","ports":[{"host":%d,"guest":80}]}`, host))
	a := r.want(409, "Address already in use (os error 98)", "POST", api+"/m/start", "")
	if !strings.Contains(a.body, `"code":"PORT_IN_USE"`) {
		t.Error(a.body)
	}
	a = r.want(500, "Address already in use (os error 98)", "POST", api+"/m/exec", `{"command":["true"]}`)
	if !strings.Contains(a.body, `"code":"INTERNAL_ERROR"`) || r.guest.count() != 0 {
		t.Error(a.body)
	}
	busy.Close()
	r.want(200, "", "POST", api+"/m/start", "")
	echo := func() error {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", host))
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, "hello"); err != nil {
			return err
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
			return fmt.Errorf("got %q, %v", b, err)
		}
		return nil
	}
	if err := echo(); err != nil {
		t.Error(err)
	}
	r.down()
	r.up()
	if err := echo(); err != nil {
		t.Errorf("after adoption: %v", err)
	}
	r.want(200, "", "POST", api+"/m/stop", "")
	if err := echo(); err == nil {
		t.Error("the port is open after the stop")
	}
}

// A mount's source is launched as it was sent, and resolved by the first command, which reboots the machine if that makes a difference.
func TestMountLinkReboots(t *testing.T) {
	r := newRig(t, local.Options{})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dest, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a right there")
	}
	if err := errors.Join(os.Mkdir(dest, 0o755), os.Symlink(dest, link)); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{"plain": dest, "linked": link} {
		r.want(200, "", "POST", api, fmt.Sprintf(`{"name":%q,"mounts":[{"source":%q,"target":"/mnt"}]}`, name, source))
		r.want(200, "", "POST", api+"/"+name+"/start", "")
		r.exec(name, `{"command":["true"]}`)
		r.exec(name, `{"command":["true"]}`)
	}
	if p, l := r.s.Reboots("plain"), r.s.Reboots("linked"); p != 0 || l != 1 {
		t.Errorf("%d and %d reboots, want 0 and 1", p, l)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	r.want(400, "mount validation failed: mount source not found: "+link, "POST", api+"/linked/exec", `{"command":["true"]}`)
	r.want(200, "", "POST", api+"/linked/stop", "")
	r.want(500, "failed to start machine: mount source not found: "+link, "POST", api+"/linked/start", "")
}

func TestShutdownWaits(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	one := r.begin(context.Background(), "POST", api+"/m/exec", `{"command":["sleep"],"timeoutSecs":1}`)
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	if err := r.s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if a := one.wait(t); !strings.Contains(a.body, `"exitCode":124`) {
		t.Errorf("the command was not waited for: %d %s", a.status, a.body)
	}
	<-r.done
	r.up()
}

func TestShutdownIsBounded(t *testing.T) {
	for _, o := range []local.Options{{Shutdown: 20 * time.Millisecond}, {}} {
		r := newRig(t, o)
		r.machine("m", "")
		one := r.begin(context.Background(), "POST", api+"/m/exec", `{"command":["sleep"]}`)
		eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		if o.Shutdown == 0 {
			ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
		}
		if err := r.s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		cancel()
		<-one.done
		if one.err == nil {
			t.Errorf("the command was answered %d", one.a.status)
		}
		if n, m := r.guest.sleepers(), r.guest.count(); n != 0 || m != 1 {
			t.Errorf("%d commands and %d machines are left, want the machine", n, m)
		}
		<-r.done
		r.up()
	}
}

func TestWrap(t *testing.T) {
	r := newRig(t, local.Options{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("X-Wrapped", "yes")
			next.ServeHTTP(w, q)
		})
	}})
	if a := r.do("GET", "/health", ""); a.header.Get("X-Wrapped") != "yes" {
		t.Error("the wrapper was not asked")
	}
}

func TestOperational(t *testing.T) {
	r := newRig(t, local.Options{Version: "1.18.2"})
	r.machine("a", "")
	r.machine("b", "")
	r.want(200, "", "POST", api, `{"name":"c"}`)
	if a := r.do("GET", "/health", ""); a.body != `{"status":"ok","version":"1.18.2","machines":{"total":3,"running":2},"uptime_seconds":0}` {
		t.Error(a.body)
	}
	if a := r.do("GET", "/readyz", ""); a.status != 200 || a.body != "" {
		t.Error(a)
	}
	a := r.do("GET", "/capacity", "")
	if !strings.HasPrefix(a.body, `{"allocated_cpus":8,"allocated_memory_mb":16384,"used_cpus":0,"used_memory_mb":0,"used_disk_gb":0,"boot_id":"`) {
		t.Error(a.body)
	}
	if a := r.do("GET", "/metrics", ""); !strings.Contains(a.body, "\nsmolvm_machines_running 2\n") || !strings.Contains(a.body, `smolvm_api_requests_total{method="GET",status="200",path="/health"} 1`) {
		t.Error(a.body)
	}
	r.want(200, "", "POST", "/drain", "")
	if n := r.guest.count(); n != 0 {
		t.Errorf("%d machines run after the drain", n)
	}
	if got := r.state("a") + " " + r.state("c"); got != "stopped created" {
		t.Error(got)
	}
}

func TestResizeAndExport(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	r.want(409, "machine 'm' must be stopped before resizing. Current state: Running", "POST", api+"/m/resize", `{}`)
	const export = `{"repo":"r","tag":"t","pushToken":"p","referenceHost":"h"}`
	r.want(409, "machine must be stopped to export", "POST", api+"/m/export", export)
	r.want(422, "", "POST", api+"/m/export", `{"repo":"r"}`)
	r.want(200, "", "POST", api+"/m/stop", "")
	r.want(400, "storageGb cannot be smaller than current size (20 GiB)", "POST", api+"/m/resize", `{"storageGb":19}`)
	r.want(400, "overlayGb cannot be smaller than current size (10 GiB)", "POST", api+"/m/resize", `{"overlayGb":9}`)
	r.want(400, "at least one of storageGb or overlayGb must be specified", "POST", api+"/m/resize", `{}`)
	a := r.want(200, "", "POST", api+"/m/resize", `{"storageGb":20,"overlayGb":11}`)
	if !strings.Contains(a.body, `"storageGb":20,"overlayGb":11`) {
		t.Error(a.body)
	}
	a = r.do("POST", api+"/m/export", export)
	if a.status != 500 || !strings.Contains(a.body, "pack export failed: ") {
		t.Error(a)
	}
}

func TestNewRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*local.Options{
		"nil":          nil,
		"no guest":     {DataDir: dir},
		"no directory": {Guest: newFakeGuest()},
		"a file":       {Guest: newFakeGuest(), DataDir: file},
	} {
		if s, err := local.New(o); err == nil {
			t.Errorf("%s: no error", name)
			s.Close()
		}
	}
	broken := filepath.Join(dir, "data", "records")
	if err := errors.Join(os.MkdirAll(broken, 0o700), os.WriteFile(filepath.Join(broken, "x.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := local.New(&local.Options{Guest: newFakeGuest(), DataDir: filepath.Join(dir, "data")}); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("a broken record: %v", err)
	}
}

// Records are private, and what is not a machine's is taken away.
func TestDataDirectory(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	err := filepath.WalkDir(r.opts.DataDir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, fi.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.down()
	dangling, half := filepath.Join(r.opts.DataDir, "vms", "0123456789abcdef", "guest"), filepath.Join(r.opts.DataDir, "records", "new-1")
	if err := errors.Join(os.MkdirAll(dangling, 0o700), os.WriteFile(half, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	// A server that was killed leaves what it had for the time of a call, with what runs in it.
	machines, err := filepath.Glob(filepath.Join(r.opts.DataDir, "vms", "*", "name"))
	if err != nil || len(machines) != 1 {
		t.Fatal(machines, err)
	}
	scratch := filepath.Join(filepath.Dir(machines[0]), "scratch-1")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.guest.Boot(t.Context(), &sim.Boot{Dir: scratch, Name: "m"}); err != nil {
		t.Fatal(err)
	}
	r.up()
	if n := r.guest.count(); n != 1 {
		t.Errorf("%d machines run, want 1", n)
	}
	if got := r.stdout.String(); got != "Reconnected to 1 existing machine(s): m\nReclaimed 1 dangling VM data dir(es)\n" {
		t.Errorf("printed %q", got)
	}
	for _, p := range []string{dangling, half, scratch} {
		if _, err := os.Stat(p); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
}

// With an injector before it the service can do its work and lose the reply, and be cut short.
func TestFaults(t *testing.T) {
	inj := fault.New()
	var log seen.Log
	r := newRig(t, local.Options{Wrap: func(next http.Handler) http.Handler { return log.Wrap(inj.Wrap(next)) }})
	t.Cleanup(inj.Close)
	inj.Add(fault.Fault{Method: "POST", Path: api, Action: fault.LoseReply, Nth: 1})
	if a, err := r.try(context.Background(), "POST", api, `{"name":"m"}`); err == nil {
		t.Errorf("answered %d", a.status)
	}
	if got := r.state("m"); got != "created" {
		t.Errorf("it is %s", got)
	}
	r.want(200, "", "PUT", api+"/m/files/f", strings.Repeat("x", 3<<20))
	inj.Add(fault.Fault{Method: "GET", Path: "files/", Action: fault.Cut, After: 2 << 20})
	a, err := r.try(context.Background(), "GET", api+"/m/files/f", "")
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(a.body) != 2<<20 {
		t.Errorf("%d bytes, %v", len(a.body), err)
	}
	inj.Reset()
	if a := r.want(200, "", "GET", api+"/m/files/f", ""); len(a.body) != 3<<20 {
		t.Errorf("%d bytes", len(a.body))
	}
	eventually(t, "all is counted", func() bool {
		list := log.All()
		return list[len(list)-1].Sent == 3<<20
	})
}
