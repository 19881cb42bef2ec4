package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// rig is a server on a Unix socket, or TCP where smolvm has no other, over a fake guest unless the options have another.
type rig struct {
	t      *testing.T
	opts   local.Options
	guest  *fakeGuest
	s      *local.Server
	stdout bytes.Buffer
	socket string
	done   chan error
	client *http.Client
}

func newRig(t *testing.T, o local.Options) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, opts: o, guest: newFakeGuest(), socket: filepath.Join(dir, "s")}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if r.opts.Guest == nil {
		r.opts.Guest = r.guest
	}
	if r.opts.DataDir == "" {
		r.opts.DataDir = filepath.Join(dir, "data")
	}
	if r.opts.Supervisor == 0 {
		r.opts.Supervisor = -1
	}
	if r.opts.Probe == 0 {
		r.opts.Probe = 50 * time.Millisecond
	}
	r.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, r.socket)
	}}}
	r.up()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		r.s.KillAll()
		r.down()
	})
	return r
}

func (r *rig) up() {
	r.t.Helper()
	r.stdout.Reset()
	r.opts.Stdout = &r.stdout
	s, err := local.New(&r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := listen(&r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.s, r.done = s, make(chan error, 1)
	go func() { r.done <- s.Serve(l) }()
}

// listen listens on the socket. On Windows smolvm has TCP only: the first call replaces the path by an address, which the next ones take again.
func listen(socket *string) (net.Listener, error) {
	if runtime.GOOS != "windows" {
		return net.Listen("unix", *socket)
	}
	address := *socket
	if filepath.IsAbs(address) {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		*socket = l.Addr().String()
	}
	return l, err
}

// dial connects to the address of [listen].
func dial(ctx context.Context, socket string) (net.Conn, error) {
	network := "unix"
	if runtime.GOOS == "windows" {
		network = "tcp"
	}
	return new(net.Dialer).DialContext(ctx, network, socket)
}

func (r *rig) down() {
	r.t.Helper()
	if err := r.s.Close(); err != nil {
		r.t.Error(err)
	}
	if err := <-r.done; err != http.ErrServerClosed {
		r.t.Errorf("Serve returned %v", err)
	}
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
}

// do sends a request. A body that begins with a brace is JSON.
func (r *rig) do(method, path, body string) answer {
	r.t.Helper()
	a, err := r.try(context.Background(), method, path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) try(ctx context.Context, method, path, body string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}

// want sends a request that must be answered with the status, and an error text if there is one.
func (r *rig) want(status int, text, method, path, body string) answer {
	r.t.Helper()
	a := r.do(method, path, body)
	got := a.body
	var e struct{ Error string }
	if a.status != 200 && json.Unmarshal([]byte(a.body), &e) == nil && e.Error != "" {
		got = e.Error
	}
	if a.status != status || text != "" && got != text {
		r.t.Errorf("%s %s\n%s\ngot  %d %s\nwant %d %s", method, path, body, a.status, got, status, text)
	}
	return a
}

const api = "/api/v1/machines"

// machine makes a machine, bare unless an image is given, and starts it.
func (r *rig) machine(name, image string) {
	r.t.Helper()
	body := `{"name":"` + name + `"}`
	if image != "" {
		body = `{"name":"` + name + `","image":"` + image + `","network":true}`
	}
	r.want(200, "", "POST", api, body)
	r.want(200, "", "POST", api+"/"+name+"/start", "")
}

// state is the state that GET tells.
func (r *rig) state(name string) string {
	r.t.Helper()
	var in struct{ State string }
	r.want(200, "", "GET", api+"/"+name, "").decode(r.t, &in)
	return in.State
}

type execReply struct {
	ExitCode                             int
	Stdout, Stderr, StdoutB64, StderrB64 string
}

func (r *rig) exec(name, body string) execReply {
	r.t.Helper()
	var out execReply
	r.want(200, "", "POST", api+"/"+name+"/exec", body).decode(r.t, &out)
	return out
}

func TestLifecycle(t *testing.T) {
	r := newRig(t, local.Options{})
	a := r.want(200, "", "POST", api, `{"name":"m","cpus":2,"ports":[]}`)
	if !strings.HasPrefix(a.body, `{"name":"m","state":"created","cpus":2,"memoryMb":8192,"mounts":[],"ports":[],"network":false,"gpu":false,"cuda":false,"storageGb":20,"overlayGb":10,"forkable":false,"forkpointHeld":false,"createdAt":`) {
		t.Errorf("create answered %s", a.body)
	}
	r.want(409, "machine 'm' already exists", "POST", api, `{"name":"m"}`)
	r.want(200, "", "POST", api+"/m/stop", "")
	if got := r.state("m"); got != "created" {
		t.Errorf("after a stop that did nothing it is %s", got)
	}
	a = r.want(200, "", "POST", api+"/m/start", "")
	if !strings.Contains(a.body, `"state":"running"`) || !strings.Contains(a.body, `"pid":4242`) {
		t.Errorf("start answered %s", a.body)
	}
	if out := r.exec("m", `{"command":["echo","hi"]}`); out.Stdout != "hi\n" || out.StdoutB64 != "aGkK" || out.StderrB64 != "" {
		t.Errorf("exec answered %+v", out)
	}
	a = r.want(200, "", "POST", api+"/m/stop", "")
	if !strings.Contains(a.body, `"state":"stopped"`) || strings.Contains(a.body, `"pid"`) {
		t.Errorf("stop answered %s", a.body)
	}
	if n := r.guest.count(); n != 0 {
		t.Errorf("%d machines run after the stop", n)
	}
	if got := r.want(200, "", "DELETE", api+"/m?force=true", "").body; got != `{"deleted":"m"}` {
		t.Errorf("delete answered %s", got)
	}
	r.want(404, "machine 'm' not found", "DELETE", api+"/m", "")
	if left, _ := filepath.Glob(filepath.Join(r.opts.DataDir, "*", "*")); len(left) > 0 {
		t.Errorf("left on disk: %v", left)
	}
}
