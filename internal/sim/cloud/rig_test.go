package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// testToken is a key that must never be told.
const testToken = "smk_canary_5e1f"

// rig is a server on a socket, with what a test needs around it. Its time stands still.
type rig struct {
	t      testing.TB
	o      cloud.Options
	clock  *cloud.FakeClock
	s      *cloud.Server
	url    string
	served chan error
	log    *lockedBuffer
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newRig starts a server; without a guest its machines are functions. At the end nothing must have told the key.
func newRig(t testing.TB, change func(*cloud.Options)) *rig {
	t.Helper()
	r := &rig{t: t, clock: cloud.NewFakeClock(time.Time{}), log: &lockedBuffer{}}
	r.o = cloud.Options{DataDir: t.TempDir(), Token: testToken, Guest: script.New(programs), Clock: r.clock}
	r.o.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&r.o)
	}
	r.start()
	t.Cleanup(func() {
		r.s.KillAll()
		r.stop()
		if strings.Contains(r.log.String(), testToken) {
			t.Errorf("the key is in the log:\n%s", r.log)
		}
	})
	return r
}

func (r *rig) start() {
	r.t.Helper()
	s, err := cloud.New(&r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.s, r.url, r.served = s, "http://"+l.Addr().String(), make(chan error, 1)
	go func(done chan<- error) { done <- s.Serve(l) }(r.served)
}

// stop lets the machines run on.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.s.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
	if err := <-r.served; !errors.Is(err, http.ErrServerClosed) {
		r.t.Errorf("serve: %v", err)
	}
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

// answer is a reply, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// json decodes the body.
func (a *answer) json(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
}

// send sends a request with the headers given, beside a content type, and returns the reply with its body open.
func (r *rig) send(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+testToken)
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
}

func (r *rig) try(ctx context.Context, method, path, body string, headers ...string) (*answer, error) {
	res, err := r.send(ctx, method, path, strings.NewReader(body), headers...)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return &answer{res.StatusCode, res.Header, string(b)}, err
}

// do sends a request and returns the reply, in which the key must not be.
func (r *rig) do(method, path, body string, headers ...string) *answer {
	r.t.Helper()
	a, err := r.try(context.Background(), method, path, body, headers...)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	if strings.Contains(a.body, testToken) {
		r.t.Errorf("%s %s tells the key: %s", method, path, a)
	}
	return a
}

// must is do for what must be answered with the status.
func (r *rig) must(status int, method, path, body string, headers ...string) *answer {
	r.t.Helper()
	a := r.do(method, path, body, headers...)
	if a.status != status {
		r.t.Fatalf("%s %s %s: %s, want %d", method, path, body, a, status)
	}
	return a
}

// machine is what tests look at in a machine.
type machine struct {
	ID, Name, State, Error, URL string
	Ready                       bool
	ReadyAt, LastActivityAt     *time.Time
	Ports                       []struct {
		Port     int
		HostPort *int
	}
	Resources struct {
		CPUs     int `json:"cpus"`
		MemoryMB int `json:"memoryMb"`
		DiskGB   *int
	}
	Network         map[string]any
	Labels, Env     map[string]string
	Branchable      bool
	BranchState     string
	ParentMachineID string
	Capabilities    struct{ Exec, Branch bool }
}

// create makes a machine of the further fields, which begin with a comma.
func (r *rig) create(fields string) string {
	r.t.Helper()
	var m machine
	r.must(201, "POST", "/v1/machines", `{"source":{"type":"image","reference":"alpine"}`+fields+`}`).json(r.t, &m)
	return m.ID
}

// up makes a machine that runs.
func (r *rig) up(fields string) string {
	r.t.Helper()
	id := r.create(fields)
	r.must(200, "POST", one(id, "/start"), "")
	return id
}

func (r *rig) get(id string) machine {
	r.t.Helper()
	var m machine
	r.must(200, "GET", one(id, ""), "").json(r.t, &m)
	return m
}

// await waits until the machine is as it should be.
func (r *rig) await(what, id string, ok func(m machine) bool) machine {
	r.t.Helper()
	var m machine
	r.until(what, func() bool {
		m = r.get(id)
		return ok(m)
	})
	return m
}

// until waits for a condition.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	end := time.After(30 * time.Second)
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-end:
			r.t.Fatalf("waited too long: %s", what)
		}
	}
}

// outcome is how a command ended.
type outcome struct {
	ExitCode                         int
	Stdout, Stderr                   string
	StdoutB64, StderrB64             []byte
	StdoutTruncated, StderrTruncated bool
	User                             *string
	MachineID                        string
}

// exec runs a command, which must come to an end.
func (r *rig) exec(id string, argv ...string) outcome {
	r.t.Helper()
	b, err := json.Marshal(map[string]any{"command": argv})
	if err != nil {
		r.t.Fatal(err)
	}
	var o outcome
	r.must(200, "POST", one(id, "/exec"), string(b)).json(r.t, &o)
	return o
}

// one is a path of a machine.
func one(id, rest string) string { return "/v1/machines/" + id + rest }

// programs are the commands of machines that are functions.
func programs(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
	case "err":
		fmt.Fprintln(c.Stderr, strings.Join(c.Argv[1:], " "))
		return 3
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
	case "env":
		fmt.Fprintf(c.Stdout, "%s in %s as %s\n", strings.Join(c.Env, ";"), c.Dir, c.User)
	case "put": // put FILE TEXT
		if c.Files.WriteFile(c.Path(c.Argv[1]), []byte(c.Argv[2]), 0o644) != nil {
			return 1
		}
	case "many": // many BYTES
		var n int
		_, _ = fmt.Sscan(c.Argv[1], &n)
		_, _ = c.Stdout.Write(bytes.Repeat([]byte("é"), n/2))
	case "hold": // until it is killed; the file says that it has begun
		if c.Files.WriteFile("/held", []byte("x"), 0o644) != nil {
			return 1
		}
		<-ctx.Done()
		return 1
	case "sh": // sh -c TEXT
		fmt.Fprintln(c.Stdout, "shell:", c.Argv[2])
	default:
		return script.NotFound
	}
	return 0
}

// guestWith is a guest some of whose steps a test has replaced.
type guestWith struct {
	sim.Guest
	boot func(ctx context.Context, b *sim.Boot) (sim.Instance, error)
	copy func(ctx context.Context, dst, src string) error
}

func (g *guestWith) Boot(ctx context.Context, b *sim.Boot) (sim.Instance, error) {
	if g.boot != nil {
		return g.boot(ctx, b)
	}
	return g.Guest.Boot(ctx, b)
}

func (g *guestWith) Copy(ctx context.Context, dst, src string) error {
	if g.copy != nil {
		return g.copy(ctx, dst, src)
	}
	return g.Guest.Copy(ctx, dst, src)
}
