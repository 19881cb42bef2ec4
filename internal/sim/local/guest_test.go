package local_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// fakeGuest is a guest whose commands are Go functions and whose files are in memory. Its machines outlive a server as long as the guest does.
type fakeGuest struct {
	mu       sync.Mutex
	running  map[string]*fakeInstance
	boots    int
	bootErr  error
	bootGate chan struct{}    // if set, Boot waits until it is closed
	env      []string         // of images
	failing  map[string]error // by operation: copy, freeze, thaw, kill, remove, adopt, write
}

// fails returns the error that the operation is to have.
func (g *fakeGuest) fails(op string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failing[op]
}

// fail lets an operation fail from now on, or, with a nil error, not any more.
func (g *fakeGuest) fail(op string, err error) {
	g.set(func(g *fakeGuest) {
		if g.failing == nil {
			g.failing = map[string]error{}
		}
		g.failing[op] = err
	})
}

func newFakeGuest() *fakeGuest { return &fakeGuest{running: map[string]*fakeInstance{}} }

func (g *fakeGuest) Supported() error { return nil }

func (g *fakeGuest) Boot(ctx context.Context, b *sim.Boot) (sim.Instance, error) {
	g.mu.Lock()
	gate, err := g.bootGate, g.bootErr
	g.boots++
	g.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	in := &fakeInstance{guest: g, dir: b.Dir, name: b.Name, done: make(chan struct{}), files: map[string]string{}, procs: map[*fakeProcess]bool{}}
	if b.Image != "" {
		in.conf = sim.Config{Env: g.env, Dir: "/image"}
	}
	if saved, err := os.ReadFile(filepath.Join(b.Dir, "disk")); err == nil {
		in.files["/disk"] = string(saved)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[b.Dir] != nil {
		return nil, errors.New("a machine runs in " + b.Dir)
	}
	g.running[b.Dir] = in
	return in, nil
}

func (g *fakeGuest) Adopt(_ context.Context, dir string) (sim.Instance, error) {
	if err := g.fails("adopt"); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if in := g.running[dir]; in != nil {
		return in, nil
	}
	return nil, sim.ErrNotRunning
}

func (g *fakeGuest) Copy(_ context.Context, dst, src string) error {
	if _, err := os.Stat(dst); err == nil {
		return errors.New("copy: the destination exists")
	}
	if err := g.fails("copy"); err != nil {
		return err
	}
	g.mu.Lock()
	in := g.running[src]
	g.mu.Unlock()
	if in != nil && !in.isFrozen() {
		return errors.New("copy: the machine is not frozen")
	}
	if err := os.MkdirAll(dst, 0o700); err != nil {
		return err
	}
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return os.WriteFile(filepath.Join(dst, "disk"), []byte(in.files["/disk"]), 0o600)
}

func (g *fakeGuest) Remove(dir string) error {
	if err := g.fails("remove"); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[dir] != nil {
		return errors.New("remove: the machine runs")
	}
	return os.RemoveAll(dir)
}

// count returns how many machines run.
func (g *fakeGuest) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.running)
}

func (g *fakeGuest) bootCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.boots
}

func (g *fakeGuest) set(f func(*fakeGuest)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g)
}

type fakeInstance struct {
	guest     *fakeGuest
	dir, name string
	conf      sim.Config
	done      chan struct{}

	mu     sync.Mutex
	dead   bool
	frozen bool
	pid    int
	files  map[string]string
	procs  map[*fakeProcess]bool
}

func (in *fakeInstance) Config() sim.Config { return in.conf }

func (in *fakeInstance) isFrozen() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.frozen
}

func (in *fakeInstance) Start(_ context.Context, c *sim.Command) (sim.Process, error) {
	if err := map[string]error{"denied": fs.ErrPermission, "long": syscall.E2BIG, "nobody": sim.ErrNoUser, "odd": errors.New("odd")}[c.Argv[0]]; err != nil {
		return nil, err
	}
	run := fakeCommands[c.Argv[0]]
	if run == nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], fs.ErrNotExist)
	}
	if c.Dir == "/nowhere" {
		return nil, &fs.PathError{Op: "chdir", Path: c.Dir, Err: fs.ErrNotExist}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.dead {
		return nil, sim.ErrNotRunning
	}
	in.pid++
	p := &fakeProcess{in: in, pid: in.pid, exited: make(chan struct{}), drained: make(chan struct{}), killed: make(chan struct{}), left: make(chan struct{})}
	in.procs[p] = true
	go p.run(run, c)
	return p, nil
}

func (in *fakeInstance) ReadFile(name string) (io.ReadCloser, fs.FileInfo, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if name == "/dir" {
		return nil, nil, sim.ErrNotRegular
	}
	text, ok := in.files[name]
	if !ok {
		return nil, nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), fakeInfo{name, int64(len(text))}, nil
}

func (in *fakeInstance) WriteFile(name string, r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	if err := in.guest.fails("write"); err != nil {
		return 0, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if name == "/dir" {
		return 0, sim.ErrNotRegular
	}
	in.files[name] = string(b)
	return int64(len(b)), nil
}

// Dial connects to an echo.
func (in *fakeInstance) Dial(context.Context, int) (net.Conn, error) {
	a, b := net.Pipe()
	go func() {
		_, _ = io.Copy(b, b)
		b.Close()
	}()
	return a, nil
}

func (in *fakeInstance) freeze(on bool) error {
	if err := in.guest.fails(map[bool]string{true: "freeze", false: "thaw"}[on]); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.frozen = on
	return nil
}

func (in *fakeInstance) Freeze() error   { return in.freeze(true) }
func (in *fakeInstance) Thaw() error     { return in.freeze(false) }
func (in *fakeInstance) PID() int        { return 4242 }
func (in *fakeInstance) Console() string { return "boot of " + in.name + "\n\nagent ready\n" }
func (in *fakeInstance) Release() error  { return nil }

func (in *fakeInstance) Kill() error {
	if err := in.guest.fails("kill"); err != nil {
		return err
	}
	in.guest.mu.Lock()
	if in.guest.running[in.dir] == in {
		delete(in.guest.running, in.dir)
	}
	in.guest.mu.Unlock()
	in.mu.Lock()
	var procs []*fakeProcess
	first := !in.dead
	in.dead = true
	for p := range in.procs {
		procs = append(procs, p)
	}
	in.mu.Unlock()
	for _, p := range procs {
		p.stop(-1)
		<-p.drained
	}
	if first {
		close(in.done)
	}
	return nil
}

func (in *fakeInstance) Done() <-chan struct{} { return in.done }

type fakeInfo struct {
	name string
	size int64
}

func (i fakeInfo) Name() string       { return path.Base(i.name) }
func (i fakeInfo) Size() int64        { return i.size }
func (i fakeInfo) Mode() fs.FileMode  { return 0o644 }
func (i fakeInfo) ModTime() time.Time { return time.Time{} }
func (i fakeInfo) IsDir() bool        { return false }
func (i fakeInfo) Sys() any           { return nil }

type fakeProcess struct {
	in      *fakeInstance
	pid     int
	exited  chan struct{} // the command has ended
	drained chan struct{} // and so has its output
	killed  chan struct{}
	left    chan struct{} // a child that holds the output is to end

	mu   sync.Mutex
	sig  int
	code int
	err  error
}

func (p *fakeProcess) run(f fakeCommand, c *sim.Command) {
	defer func() {
		p.in.mu.Lock()
		delete(p.in.procs, p)
		p.in.mu.Unlock()
		close(p.drained)
	}()
	io1 := &fakeIO{p: p, c: c, in: c.Stdin, out: c.Stdout, err: c.Stderr}
	if io1.in == nil {
		io1.in = strings.NewReader("")
	}
	if io1.out == nil {
		io1.out = io.Discard
	}
	if io1.err == nil {
		io1.err = io.Discard
	}
	code := f(io1)
	p.mu.Lock()
	if p.code = code; p.sig > 0 {
		p.code = 128 + p.sig
	}
	p.mu.Unlock()
	close(p.exited)
	if !io1.leaves {
		return
	}
	var limit <-chan time.Time
	if c.WaitOutput >= 0 {
		limit = time.After(c.WaitOutput)
	}
	select {
	case <-p.left:
	case <-limit:
	}
}

func (p *fakeProcess) PID() int                { return p.pid }
func (p *fakeProcess) Exited() <-chan struct{} { return p.exited }
func (p *fakeProcess) Resize(int, int) error   { return nil }
func (p *fakeProcess) Kill(sim.Reach) error    { return p.Signal(9) }
func (p *fakeProcess) Signal(sig int) error    { p.stop(sig); return nil }
func (p *fakeProcess) Wait() (int, error) {
	<-p.drained
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code, p.err
}

// stop ends the process; -1 means that the machine has gone.
func (p *fakeProcess) stop(sig int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
	default:
		if p.sig == 0 {
			p.sig = sig
			close(p.killed)
		}
	}
	if sig == -1 {
		p.err = sim.ErrNotRunning
		select {
		case <-p.left:
		default:
			close(p.left)
		}
	}
}

// fakeIO is what a command has.
type fakeIO struct {
	p        *fakeProcess
	c        *sim.Command
	in       io.Reader
	out, err io.Writer
	leaves   bool // a child that holds the output
}

type fakeCommand func(*fakeIO) int

var fakeCommands = map[string]fakeCommand{
	"echo": func(c *fakeIO) int {
		fmt.Fprintln(c.out, strings.Join(c.c.Argv[1:], " "))
		return 0
	},
	"/bin/sh": func(c *fakeIO) int {
		<-c.p.killed
		return 0
	},
	"true":  func(*fakeIO) int { return 0 },
	"false": func(*fakeIO) int { return 3 },
	"bytes": func(c *fakeIO) int {
		_, _ = c.out.Write([]byte{0xff, 'a', 0xe2, 0x82})
		fmt.Fprint(c.err, "oops")
		return 0
	},
	"cat": func(c *fakeIO) int {
		done := make(chan struct{})
		go func() {
			_, _ = io.Copy(c.out, c.in)
			close(done)
		}()
		select {
		case <-done:
			return 0
		case <-c.p.killed:
			return 1
		}
	},
	"sleep": func(c *fakeIO) int {
		<-c.p.killed
		return 0
	},
	"leave": func(c *fakeIO) int {
		c.leaves = true
		return 0
	},
	"tty": func(c *fakeIO) int { // tells its size and echoes until 0x04
		fmt.Fprintf(c.out, "%dx%d\n", c.c.Rows, c.c.Cols)
		b := make([]byte, 1000)
		for {
			n, err := c.in.Read(b)
			_, _ = c.out.Write(b[:n])
			if err != nil || bytes.IndexByte(b[:n], 4) >= 0 {
				return 7
			}
		}
	},
	"env": func(c *fakeIO) int {
		fmt.Fprintln(c.out, strings.Join(c.c.Env, "\n"))
		return 0
	},
	"pwd": func(c *fakeIO) int {
		fmt.Fprintf(c.out, "dir=%s user=%s\n", c.c.Dir, c.c.User)
		return 0
	},
	"raw": func(c *fakeIO) int { // its argument is base64
		b, err := base64.StdEncoding.DecodeString(c.c.Argv[1])
		if err != nil {
			return 1
		}
		_, _ = c.out.Write(b)
		return 0
	},
	"flood": func(c *fakeIO) int { // writes so many MiB
		var n int
		_, _ = fmt.Sscan(c.c.Argv[1], &n)
		block := bytes.Repeat([]byte("x"), 1<<20)
		for range n {
			if _, err := c.out.Write(block); err != nil {
				return 128 + 13
			}
		}
		return 0
	},
	"write": func(c *fakeIO) int { // its arguments one by one, unquoted
		for _, a := range c.c.Argv[1:] {
			s := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\xff`, "\xff").Replace(a)
			_, _ = io.WriteString(c.out, s)
		}
		return 0
	},
}

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !f() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}
