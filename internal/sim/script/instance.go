package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
)

// defaultEnv is what a command of a machine sees when nobody says otherwise.
var defaultEnv = []string{"HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm-256color"}

// patience is how long a function may go on after its machine has ended.
const patience = 5 * time.Second

// instance is a machine that runs.
type instance struct {
	maker  *maker
	dir    string
	name   string
	tree   *Tree
	booted time.Time
	gate   gate
	files  fileOps
	jobs   jobs
	// keepers write down how jobs end.
	keepers sync.WaitGroup

	mu      sync.Mutex
	nextPID int
	running map[*process]bool // those whose function has not returned
	over    bool
	idle    chan struct{} // closed when the machine has ended and no function runs
	done    chan struct{}
}

func newInstance(g *maker, b *sim.Boot, tree *Tree) *instance {
	return &instance{
		maker: g, dir: b.Dir, name: b.Name, tree: tree, booted: time.Now(), nextPID: 2, running: map[*process]bool{},
		files: fileOps{tree: tree}, idle: make(chan struct{}), done: make(chan struct{}),
	}
}

// Start starts a command, whose function may be one of the library's own scripts.
func (i *instance) Start(ctx context.Context, c *sim.Command) (sim.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv, shell := guest.ParseNoInput(c.Argv)
	if shell {
		inner := *c
		inner.Argv, inner.Stdin = argv, nil
		c = &inner
	}
	call, err := i.call(c)
	if err != nil {
		return nil, err
	}
	run := i.own(call)
	if run == nil {
		run = func(ctx context.Context) int { return i.answer(ctx, call) }
	}
	p, err := i.launch(call, c.Stdin, c.Stdout, c.Stderr, shell, run)
	if err != nil {
		return nil, err
	}
	p.tied.Store(c.Tied)
	ok, err := p.found(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, i.noProgram(call)
	}
	return p, nil
}

// call is c as a function sees it.
func (i *instance) call(c *sim.Command) (*Call, error) {
	if i.isOver() {
		return nil, sim.ErrNotRunning
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, &fs.PathError{Op: "exec", Path: "", Err: fs.ErrNotExist}
	}
	call := &Call{Argv: slices.Clone(c.Argv), Env: slices.Clone(c.Env), Dir: c.Dir, User: c.User, Files: i.tree, TTY: c.TTY}
	if c.Env == nil {
		call.Env = slices.Clone(defaultEnv)
	}
	if call.Dir == "" {
		call.Dir = "/"
	}
	if err := i.isDir(call.Dir); err != nil {
		return nil, err
	}
	return call, nil
}

func (i *instance) isOver() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.over
}

func (i *instance) isDir(dir string) error {
	fi, err := i.tree.Stat(dir)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "chdir", Path: dir, Err: errNotDir}
	}
	return err
}

// answer calls the function of the guest.
func (i *instance) answer(ctx context.Context, c *Call) int {
	code := i.maker.run(ctx, c)
	if code == NotFound && path.Base(c.Argv[0]) == "true" {
		return 0 // whoever waits for a machine runs this
	}
	return code
}

// launch starts run as a process of the machine. Under a shell a program that does not exist is a message and an exit code; else it is an
// error of whoever starts it.
func (i *instance) launch(c *Call, stdin io.Reader, stdout, stderr io.Writer, shell bool, run func(context.Context) int) (*process, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return nil, sim.ErrNotRunning
	}
	i.nextPID++
	if c.TTY {
		stderr = stdout
	}
	p := newProcess(i, i.nextPID, c.Argv[0], stderr)
	p.started = shell
	c.proc = p
	c.Stdin, c.Stdout, c.Stderr = &input{p: p, r: stdin}, &output{p, stdout}, p.stderr
	i.running[p] = true
	go func() {
		defer i.returned(p)
		p.run(run)
	}()
	return p, nil
}

// returned notes that the function of p is gone.
func (i *instance) returned(p *process) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, p)
	if i.over && len(i.running) == 0 {
		close(i.idle)
	}
}

// noProgram is the error for a program that the function does not know.
func (i *instance) noProgram(c *Call) error {
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		if _, err := i.tree.Stat(c.Path(name)); err == nil {
			return &fs.PathError{Op: "exec", Path: name, Err: fs.ErrPermission}
		}
	}
	return &fs.PathError{Op: "exec", Path: name, Err: fs.ErrNotExist}
}

// ReadFile opens a regular file.
func (i *instance) ReadFile(name string) (io.ReadCloser, fs.FileInfo, error) {
	fi, err := i.tree.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: %s", sim.ErrNotRegular, name)
	}
	f, err := i.tree.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return f, fi, nil
}

// WriteFile replaces the file.
func (i *instance) WriteFile(name string, r io.Reader) (int64, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return 0, fmt.Errorf("invalid guest path %q: parent traversal is not allowed", name)
	}
	return i.tree.Replace(name, r, 0o644)
}

// Dial finds nobody: functions do not listen.
func (i *instance) Dial(_ context.Context, port int) (net.Conn, error) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: syscall.ECONNREFUSED}
}

func (i *instance) Freeze() error {
	i.gate.close()
	return nil
}

func (i *instance) Thaw() error {
	i.gate.open()
	return nil
}

func (i *instance) PID() int { return 0 }

func (i *instance) Console() string {
	return "[    0.000000] a machine in pure Go, no hypervisor\n[    0.001000] host name " + i.name + "\n[    0.002000] ready\n"
}

// Release lets go of the machine, which stays to be adopted; commands tied to their caller end.
func (i *instance) Release() error {
	for _, p := range i.processes() {
		if p.tied.Load() {
			p.end(128+sigKill, true)
		}
	}
	return nil
}

// processes are those whose function has not returned.
func (i *instance) processes() []*process {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Keys(i.running))
}

func (i *instance) Done() <-chan struct{} { return i.done }

// Kill ends the machine. A function that does not return when its context has ended is an error that names its command; the files
// are left open then.
func (i *instance) Kill() error {
	i.mu.Lock()
	first := !i.over
	i.over = true
	if first && len(i.running) == 0 {
		close(i.idle)
	}
	i.mu.Unlock()
	if !first {
		<-i.done
		return nil
	}
	defer close(i.done)
	i.maker.forget(i)
	for _, p := range i.processes() {
		p.end(128+sigKill, true)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-i.idle:
		i.keepers.Wait()
		return i.tree.Close()
	case <-limit.C:
		return i.stuck()
	}
}

// stuck names the commands whose functions do not return.
func (i *instance) stuck() error {
	var names []string
	for _, p := range i.processes() {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return errors.New("the function answering " + strings.Join(names, ", ") + " ignores that its context has ended")
}
