//go:build linux || darwin

package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/serve"
)

// place is a host to itself: a runtime directory, a smolvm, its data, and a second port.
type place struct {
	t        *testing.T
	dir, run string
	env      []string
}

func newPlace(t *testing.T, env ...string) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "serve") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: dir, run: filepath.Join(dir, "run")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A launcher script, as smolvm has one. It answers --version by itself.
	p.write("smolvm", 0o700, "#!/bin/sh\ncase $1 in --version) printf '%b' \"$SMOLVM_TEST_VERSION\"; exit;; esac\n"+
		role+"=smolvm GORACE=atexit_sleep_ms=0 GOCOVERDIR='"+os.Getenv("GOCOVERDIR")+"' exec '"+self+"' \"$@\"\n")
	p.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SMOLVM_DATA_DIR=" + dir, "SMOLVM_GUEST_ROLLOUT_HOST_PORT=" + freePort(t),
		`SMOLVM_TEST_VERSION=smolvm 1.14.5\nhypervisor: none\n`, "SMOLVM_TEST_RELEASE=1.14.5",
	}, env...)
	t.Cleanup(func() {
		for _, pid := range p.alive() {
			t.Errorf("serve %d is left", pid)
			if h, err := os.FindProcess(pid); err == nil {
				_ = h.Kill()
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *place) write(name string, mode os.FileMode, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	// What is forked meanwhile would hold the file open for writing, and nobody can execute such a file.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), mode)
	syscall.ForkLock.RUnlock()
	if err != nil {
		p.t.Fatal(err)
	}
	return path
}

// ports counts those that were given to tests.
var ports atomic.Int32

// block returns the first of a hundred ports that are this process's: it listens there for as long as it lives, and processes of tests that run beside it
// look for others. Two serves of two processes at one port would each be in the other's way.
var block = sync.OnceValues(func() (int, net.Listener) {
	for i := range 200 {
		first := 12000 + (os.Getpid()+i)%200*100
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(first)); err == nil {
			return first, l
		}
	}
	return 0, nil
})

// freePort is a port that nobody has, and that no other test is given: not by this process, nor by one that runs beside it, nor by the system to
// whoever asks for any. It is not tried by listening, since what another test forks at that moment would hold it for a while.
func freePort(t *testing.T) string {
	t.Helper()
	first, held := block()
	for range 99 {
		if port := strconv.Itoa(first + 1 + int(ports.Add(1))%99); held != nil && isFree(port) {
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

func isFree(port string) bool {
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err == nil {
		c.Close()
	}
	return err != nil
}

// config is that of a program that uses the serve at a place.
func config(dir string, env []string) *serve.Config {
	return &serve.Config{
		Program: filepath.Join(dir, "smolvm"), Dir: filepath.Join(dir, "run"), OwnURL: "unix://" + filepath.Join(dir, "run", "api.sock"), Env: env,
		MinVersion: "1.14.0", StartTimeout: time.Minute, StopTimeout: time.Minute, Log: slog.New(slog.DiscardHandler), Probe: probe,
	}
}

func (p *place) config() *serve.Config { return config(p.dir, p.env) }

func newLease(c *serve.Config) *serve.Lease { return serve.New(c).Lease() }

// probe asks for the health at url, as the client does.
func probe(ctx context.Context, url string) (string, error) {
	address, base := "", url
	if path, ok := strings.CutPrefix(url, "unix://"); ok {
		address, base = path, "http://localhost"
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		if address != "" {
			network, to = "unix", address
		}
		c, err := new(net.Dialer).DialContext(ctx, network, to)
		if err != nil {
			return nil, err
		}
		if err := serve.CheckPeer(c); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/health", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var h struct{ Version string }
	return h.Version, json.NewDecoder(resp.Body).Decode(&h)
}

// journal returns the pids of the serves that have ever begun, and how many did while another one ran.
func (p *place) journal() (pids []int, seconds int) {
	b, err := os.ReadFile(filepath.Join(p.dir, "journal"))
	if err != nil {
		return nil, 0
	}
	for line := range strings.Lines(string(b)) {
		word, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.Atoi(pid)
		if word == "second" {
			seconds++
			continue
		}
		pids = append(pids, n)
	}
	return pids, seconds
}

// alive returns the serves that still run.
func (p *place) alive() (pids []int) {
	all, _ := p.journal()
	for _, pid := range all {
		if _, err := serve.Identify(pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// began checks how many serves have been started, and that there were never two.
func (p *place) began(want int) {
	p.t.Helper()
	if pids, seconds := p.journal(); len(pids) != want || seconds != 0 {
		p.t.Errorf("%d serves were started, want %d; %d of them while another one ran", len(pids), want, seconds)
		for _, name := range []string{"serve.log", "serve.log.1"} {
			b, err := os.ReadFile(filepath.Join(p.run, name))
			p.t.Logf("%s: %s%v", name, b, err)
		}
	}
}

// clean checks that nothing is left of a serve.
func (p *place) clean() {
	p.t.Helper()
	if pids := p.alive(); len(pids) != 0 {
		p.t.Errorf("the serves %v are left", pids)
	}
	for _, name := range []string{"api.sock", "serve.pid", "serve.pid.new"} {
		if _, err := os.Lstat(filepath.Join(p.run, name)); !os.IsNotExist(err) {
			p.t.Errorf("%s is left: %v", name, err)
		}
	}
}

// get takes the lease, which must succeed.
func get(t *testing.T, l *serve.Lease) *serve.Use {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	u, err := l.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func closeLease(t *testing.T, l *serve.Lease) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// program is this test binary in another role, as a process.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Scanner
}

func (p *place) program(as string, env ...string) *program {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	g := &program{t: p.t, cmd: exec.Command(self)}
	g.cmd.Env = append(append([]string{role + "=" + as, "DIR=" + p.dir, "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}, p.env...), env...)
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	g.lines = bufio.NewScanner(out)
	g.cmd.Stderr = os.Stderr
	if err := g.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(g.kill)
	return g
}

// says waits for the next line, which must begin so.
func (g *program) says(want string) string {
	g.t.Helper()
	if !g.lines.Scan() || !strings.HasPrefix(g.lines.Text(), want) {
		g.t.Fatalf("the other program says %q, want %q", g.lines.Text(), want)
	}
	return strings.TrimPrefix(g.lines.Text(), want)
}

// uses waits until the program uses a serve, and returns its pid.
func (g *program) uses() int {
	g.t.Helper()
	pid, err := strconv.Atoi(g.says("uses "))
	if err != nil {
		g.t.Fatal(err)
	}
	return pid
}

// close tells the program to let go.
func (g *program) close() { _ = g.in.Close() }

// kill ends it as nobody should.
func (g *program) kill() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}
