package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
)

func programs(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
		return 0
	case "forever":
		<-ctx.Done()
		return 1
	}
	return script.NotFound
}

func start(t *testing.T, g sim.Guest, tcp bool) *host.Host {
	t.Helper()
	h, err := host.Start(&host.Options{Server: local.Options{Guest: g}, TCP: tcp})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// listener is a host, here or in another process.
type listener interface{ URL() string }

// call sends a request on a connection of its own.
func call(t *testing.T, h listener, method, path, body string) (status int, reply string) {
	t.Helper()
	status, reply, err := try(t.Context(), h, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, reply
}

func try(ctx context.Context, h listener, method, path, body string) (status int, reply string, err error) {
	url, client := h.URL(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if socket, ok := strings.CutPrefix(url, "unix://"); ok {
		url = "http://localhost"
		client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.FromSlash(socket))
		}}
	}
	req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// boot makes a machine that runs.
func boot(t *testing.T, h listener, name string) {
	t.Helper()
	for _, r := range [][2]string{{"", `{"name":"` + name + `"}`}, {"/" + name + "/start", ""}} {
		if status, reply := call(t, h, "POST", "/api/v1/machines"+r[0], r[1]); status != 200 {
			t.Fatalf("POST %s: %d %s", r[0], status, reply)
		}
	}
}

func state(t *testing.T, h listener, name string) (state string, pid int) {
	t.Helper()
	status, reply := call(t, h, "GET", "/api/v1/machines/"+name, "")
	var info struct {
		State string
		PID   int
	}
	if err := json.Unmarshal([]byte(reply), &info); err != nil || status != 200 {
		t.Fatalf("GET %s: %d %s", name, status, reply)
	}
	return info.State, info.PID
}

func echo(t *testing.T, h listener, name string) {
	t.Helper()
	status, reply := call(t, h, "POST", "/api/v1/machines/"+name+"/exec", `{"command":["echo","it","works"]}`)
	if status != 200 || !strings.Contains(reply, `"stdout":"it works\n"`) {
		t.Errorf("exec: %d %s", status, reply)
	}
}

// sockets are the kinds of listeners that this system has.
func sockets() map[string]bool {
	if runtime.GOOS == "windows" {
		return map[string]bool{"tcp": true}
	}
	return map[string]bool{"unix": false, "tcp": true}
}

func TestRestartAdopts(t *testing.T) {
	for kind, tcp := range sockets() {
		t.Run(kind, func(t *testing.T) {
			h := start(t, script.New(programs), tcp)
			url := h.URL()
			boot(t, h, "m")
			if err := h.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s, _ := state(t, h, "m"); s != "running" || h.URL() != url {
				t.Errorf("after a restart the machine is %s at %s, before at %s", s, h.URL(), url)
			}
			if err := h.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := try(t.Context(), h, "GET", "/health", ""); err == nil {
				t.Error("a server that was killed answers")
			}
			if err := h.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s, _ := state(t, h, "m"); s != "running" {
				t.Errorf("after a kill and a restart the machine is %s", s)
			}
			echo(t, h, "m")
		})
	}
}

func TestRequestsAcrossRestarts(t *testing.T) {
	h := start(t, script.New(programs), runtime.GOOS == "windows")
	call(t, h, "GET", "/health", "")
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, h, "GET", "/readyz", "")
	var paths []string
	for _, r := range h.Requests() {
		paths = append(paths, r.Path)
	}
	if got := strings.Join(paths, " "); got != "/health /readyz" {
		t.Errorf("requests: %s", got)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes mean nothing there, and the listener is TCP
	}
	h := start(t, script.New(nil), false)
	path := strings.TrimPrefix(h.URL(), "unix://")
	for name, want := range map[string]os.FileMode{path: os.ModeSocket | 0o600, filepath.Dir(path): os.ModeDir | 0o700} {
		fi, err := os.Stat(name)
		if err != nil || fi.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, fi.Mode(), err, want)
		}
	}
}

// TestCloseLeavesNothing closes a host with a command that is running and one that nobody waits for any more.
func TestCloseLeavesNothing(t *testing.T) {
	h := start(t, script.New(programs), runtime.GOOS == "windows")
	boot(t, h, "m")
	if status, reply := call(t, h, "POST", "/api/v1/machines/m/exec", `{"command":["forever"],"background":true}`); status != 200 {
		t.Fatalf("%d %s", status, reply)
	}
	cut := make(chan error, 1)
	go func() {
		_, _, err := try(context.Background(), h, "POST", "/api/v1/machines/m/exec", `{"command":["forever"]}`)
		cut <- err
	}()
	if err := h.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-cut; err == nil {
		t.Error("the command that was running ended as if by itself")
	}
	if _, err := os.Stat(h.Dir()); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
}

// TestSandbox does the same with machines that are processes.
func TestSandbox(t *testing.T) {
	h := start(t, simtest.Sandbox(t), false)
	boot(t, h, "a")
	boot(t, h, "b")
	_, pid := state(t, h, "a")
	if pid <= 0 {
		t.Fatalf("pid %d", pid)
	}
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, again := state(t, h, "a"); s != "running" || again != pid {
		t.Errorf("after a kill the machine is %s, process %d, before %d", s, again, pid)
	}
	echo(t, h, "b")
	if err := h.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := os.Stat(fmt.Sprint("/proc/", pid)); !os.IsNotExist(err) {
		t.Errorf("process %d is left: %v", pid, err)
	}
}

// TestFaultRestart has a fault restart the host, which may fail like any restart.
func TestFaultRestart(t *testing.T) {
	h := start(t, script.New(programs), runtime.GOOS == "windows")
	first := h.Server()
	armed := h.Fault(fault.Fault{Path: "/health", Nth: 1, Action: fault.Restart})
	if status, reply, err := try(t.Context(), h, "GET", "/health", ""); err == nil {
		t.Errorf("the request that restarts was answered: %d, %s", status, reply)
	}
	for h.Server() == first { // answered or refused, depending on how far the restart is
		_, _, _ = try(t.Context(), h, "GET", "/readyz", "")
	}
	call(t, h, "GET", "/health", "")
	if armed.Fired() != 1 {
		t.Errorf("fired %d times", armed.Fired())
	}
	h.ForgetRequests()
	h.Fault(fault.Fault{Action: fault.Fail, Status: 503})
	if status, _, err := try(t.Context(), h, "GET", "/health", ""); status != 503 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	h.ClearFaults()
	call(t, h, "GET", "/health", "")
	if got := h.Requests(); len(got) != 2 || got[0].Status != 503 || got[1].Status != 200 {
		t.Errorf("requests: %+v", got)
	}
}

func TestStartFails(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	if h, err := host.Start(&host.Options{Server: local.Options{Guest: script.New(nil), Version: "not a version"}}); err == nil {
		h.Close()
		t.Fatal("a version that is none was accepted")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
