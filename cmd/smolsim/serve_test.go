package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// server is smolsim serve start as a process.
type server struct {
	cmd    *exec.Cmd
	client *http.Client
	base   string
	lines  []string // of stdout, up to the one that tells it is ready
	mu     sync.Mutex
	errs   bytes.Buffer
}

func (s *server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs.Write(b)
}

func (s *server) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs.String()
}

// place is where a server keeps its data and listens; servers one after another may share it.
type place struct {
	data, listen, rollout string
	extra                 []string // environment
}

func newPlace(t *testing.T, tcp bool) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	p := &place{data: filepath.Join(dir, "data"), listen: "unix://" + filepath.Join(dir, "made", "too", "s"), rollout: simtest.FreePort(t)}
	if tcp || runtime.GOOS == "windows" {
		p.listen = "127.0.0.1:" + simtest.FreePort(t)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return p
}

func (p *place) env() []string {
	return append([]string{"SMOLVM_DATA_DIR=" + p.data, "SMOLVM_GUEST_ROLLOUT_HOST_PORT=" + p.rollout}, p.extra...)
}

// serve starts a server and waits until it says that it is ready.
func serve(t *testing.T, p *place, args ...string) *server {
	t.Helper()
	s := &server{cmd: command(t, p.env(), append([]string{"serve", "start", "-l", p.listen}, args...)...)}
	s.cmd.Stderr = s
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // most tests have ended it
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.lines = append(s.lines, lines.Text())
		if strings.HasPrefix(lines.Text(), "smolvm API server listening on ") {
			break
		}
	}
	if err := lines.Err(); err != nil || len(s.lines) == 0 {
		t.Fatalf("the server is not ready: %v, %v: %s", err, s.cmd.Wait(), s.stderr())
	}
	s.connect(p)
	return s
}

func (s *server) connect(p *place) {
	transport := &http.Transport{DisableKeepAlives: true}
	s.base = "http://" + p.listen
	if socket, ok := strings.CutPrefix(p.listen, "unix://"); ok {
		s.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	s.client = &http.Client{Transport: transport}
}

// call sends a request and returns the reply, which must be a 200.
func (s *server) call(t *testing.T, method, path, body string) string {
	t.Helper()
	reply, err := s.try(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v; the server says %s", method, path, err, s.stderr())
	}
	return reply
}

func (s *server) try(ctx context.Context, method, path, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	return string(b), err
}

// boot makes a machine that runs, and returns its process.
func (s *server) boot(t *testing.T, name string) (pid int) {
	t.Helper()
	s.call(t, "POST", "/api/v1/machines", `{"name":"`+name+`"}`)
	var info struct {
		State string
		PID   int
	}
	if err := json.Unmarshal([]byte(s.call(t, "POST", "/api/v1/machines/"+name+"/start", "")), &info); err != nil {
		t.Fatal(err)
	}
	if info.State != "running" || info.PID == 0 {
		t.Fatalf("after the start: %+v", info)
	}
	return info.PID
}

func (s *server) exec(t *testing.T, name string, argv ...string) string {
	t.Helper()
	cmd, err := json.Marshal(map[string]any{"command": argv})
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		ExitCode       int
		Stdout, Stderr string
	}
	if err := json.Unmarshal([]byte(s.call(t, "POST", "/api/v1/machines/"+name+"/exec", string(cmd))), &r); err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != 0 || r.Stderr != "" {
		t.Errorf("exec %q: %+v", argv, r)
	}
	return r.Stdout
}

// end waits for the server to end by itself.
func (s *server) end(t *testing.T, wantCode int) {
	t.Helper()
	_ = s.cmd.Wait() // the code says it
	if code := s.cmd.ProcessState.ExitCode(); code != wantCode {
		t.Errorf("the server exited with %d, want %d: %s", code, wantCode, s.stderr())
	}
}

func TestServe(t *testing.T) {
	simtest.Sandbox(t)
	for kind, tcp := range map[string]bool{"unix": false, "tcp": true} {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t, tcp)
			s := serve(t, p)
			want := "smolvm API server listening on " + p.listen
			if tcp {
				want = "smolvm API server listening on http://" + p.listen
			}
			if len(s.lines) != 1 || s.lines[0] != want {
				t.Errorf("stdout %q, want %q", s.lines, want)
			}
			if got := s.call(t, "GET", "/health", ""); !strings.HasPrefix(got, `{"status":"ok","version":"1.14.5",`) {
				t.Errorf("health: %s", got)
			}
			pid := s.boot(t, "m")
			if got := s.exec(t, "m", "sh", "-c", "echo from $(id -u) in $PWD"); got != "from 0 in /\n" {
				t.Errorf("exec: %q", got)
			}
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.end(t, 0)
			if want := "\nShutting down server (VMs continue running)...\n"; s.stderr() != want {
				t.Errorf("stderr %q, want %q", s.stderr(), want)
			}
			if _, err := os.Stat(strings.TrimPrefix(p.listen, "unix://")); err == nil {
				t.Error("the socket is left")
			}
			s = serve(t, p) // the machine has gone on
			if len(s.lines) != 2 || s.lines[0] != "Reconnected to 1 existing machine(s): m" {
				t.Errorf("stdout of the next server: %q", s.lines)
			}
			s.call(t, "DELETE", "/api/v1/machines/m", "")
			if alive(pid) {
				t.Errorf("process %d of the deleted machine is left", pid)
			}
			if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			s.end(t, 0)
		})
	}
}

// alive reports whether the process runs. One whose server is gone may stay a zombie where process 1 reaps nobody.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprint("/proc/", pid, "/stat"))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// TestServeKilled kills a server as nobody should, with a command in each of the two kinds under way.
func TestServeKilled(t *testing.T) {
	simtest.Sandbox(t)
	p := newPlace(t, false)
	s := serve(t, p)
	pid := s.boot(t, "m")
	s.call(t, "POST", "/api/v1/machines/m/exec", `{"command":["sh","-c","echo $$ >/root/back; exec sleep 1000"],"background":true}`)
	cut := make(chan error, 1)
	go func() {
		_, err := s.try(context.Background(), "POST", "/api/v1/machines/m/exec", `{"command":["sh","-c","echo $$ >/root/fore; exec sleep 1000"]}`)
		cut <- err
	}()
	s.exec(t, "m", "sh", "-c", "until [ -s /root/fore ] && [ -s /root/back ]; do sleep 0.02; done")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-cut; err == nil {
		t.Error("the command of a server that was killed ended as if by itself")
	}
	s.end(t, -1)
	s = serve(t, p) // on the socket that is still there
	if len(s.lines) != 2 || s.lines[0] != "Reconnected to 1 existing machine(s): m" {
		t.Errorf("stdout of the next server: %q", s.lines)
	}
	if !alive(pid) {
		t.Errorf("the machine's process %d died with the server", pid)
	}
	s.exec(t, "m", "sh", "-c", "kill -0 $(cat /root/back)")
	s.exec(t, "m", "sh", "-c", "while kill -0 $(cat /root/fore) 2>/dev/null; do sleep 0.02; done")
	s.call(t, "DELETE", "/api/v1/machines/m", "")
	if alive(pid) {
		t.Errorf("process %d of the deleted machine is left", pid)
	}
}

// TestSecondServer starts a server while the rollout port is taken. Its failure takes down the machines that it had adopted.
func TestSecondServer(t *testing.T) {
	simtest.Sandbox(t)
	p := newPlace(t, false)
	s := serve(t, p)
	pid := s.boot(t, "m")
	other := *p
	other.data, other.listen = p.data+"2", p.listen+"2"
	stdout, stderr, code := smolsim(t, other.env(), "serve", "start", "-l", other.listen)
	want := fmt.Sprintf("Error: config operation failed: bind guest rollout ingress: 127.0.0.1:%s: Address already in use (os error %d)\n",
		p.rollout, int(syscall.EADDRINUSE))
	if stdout != "" || stderr != want || code != 1 {
		t.Errorf("%q, %q, exit %d; want %q", stdout, stderr, code, want)
	}
	if !alive(pid) {
		t.Error("a second server with data of its own ended the first one's machine")
	}
	other.data = p.data
	if _, _, code := smolsim(t, other.env(), "serve", "start", "-l", other.listen); code != 1 {
		t.Errorf("exit %d", code)
	}
	deadline := time.Now().Add(10 * time.Second)
	for alive(pid) && time.Now().Before(deadline) {
		s.call(t, "GET", "/health", "")
	}
	if alive(pid) {
		t.Error("a second server on the same data that fails does not take the first one's machines with it, as it should")
	}
}

func TestSecondPort(t *testing.T) {
	p := newPlace(t, false)
	serve(t, p)
	for path, want := range map[string]int{"/api/v1/rollout-executors/x/generate": 401, "/health": 404} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1:"+p.rollout+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}

func TestDrainOnShutdown(t *testing.T) {
	simtest.Sandbox(t)
	p := newPlace(t, false)
	p.extra = []string{"SMOLVM_DRAIN_ON_SHUTDOWN=1"}
	s := serve(t, p)
	pid := s.boot(t, "m")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.end(t, 0)
	if alive(pid) {
		t.Error("the machine was not stopped")
	}
	s = serve(t, p)
	if info := s.call(t, "GET", "/api/v1/machines/m", ""); !strings.Contains(info, `"state":"stopped"`) {
		t.Errorf("the next server knows of %s", info)
	}
}

func TestFaults(t *testing.T) {
	p := newPlace(t, false)
	s := serve(t, p, "--fault", `{"method":"GET","path":"/health","nth":2,"action":"fail","status":503,"body":"busy","contentType":"text/plain"}`,
		"--fault", `{"path":"/readyz","action":"lose reply","delay":"1ms"}`)
	s.call(t, "GET", "/health", "")
	if _, err := s.try(t.Context(), "GET", "/health", ""); err == nil || err.Error() != "status 503: busy" {
		t.Errorf("the second request: %v", err)
	}
	s.call(t, "GET", "/health", "")
	if _, err := s.try(t.Context(), "GET", "/readyz", ""); !errors.Is(err, io.EOF) {
		t.Errorf("a lost reply: %v", err)
	}
}

// TestImitate plays another release.
func TestImitate(t *testing.T) {
	p := newPlace(t, false)
	s := serve(t, p, "--imitate", "1.23.0")
	if got := s.call(t, "GET", "/health", ""); !strings.Contains(got, `"version":"1.23.0"`) {
		t.Errorf("health: %s", got)
	}
}

// TestShutdownGrace ends a server while somebody follows a log: it waits as long as it was told to and no longer.
func TestShutdownGrace(t *testing.T) {
	simtest.Sandbox(t)
	p := newPlace(t, false)
	s := serve(t, p, "--shutdown-grace", "0")
	s.boot(t, "m")
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.base+"/api/v1/machines/m/logs?follow=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.end(t, 0)
	s = serve(t, p)
	s.call(t, "DELETE", "/api/v1/machines/m", "")
}
