package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// programs is what the machines of these tests can run.
func programs(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
	case "env":
		fmt.Fprintln(c.Stdout, strings.Join(c.Env, "\n"))
	case "id":
		fmt.Fprintf(c.Stdout, "%s in %s\n", c.User, c.Dir)
	case "write":
		if err := c.Files.WriteFile(c.Path(c.Argv[1]), []byte(c.Argv[2]), 0o644); err != nil {
			fmt.Fprintln(c.Stderr, err)
			return 1
		}
	case "forever":
		fmt.Fprintln(c.Stdout, "running")
		<-ctx.Done()
		return 3
	case "polite":
		stop := make(chan int, 1)
		c.Trap(func(sig int) { stop <- sig })
		fmt.Fprintln(c.Stdout, "running")
		select {
		case sig := <-stop:
			fmt.Fprintf(c.Stdout, "bye %d\n", sig)
			return 7
		case <-ctx.Done():
			return 1
		}
	case "tick":
		for {
			if _, err := fmt.Fprintln(c.Stdout, "tick"); err != nil {
				return 1
			}
		}
	case "exit":
		return 300
	case "late":
		fmt.Fprintln(c.Stdout, "hm")
		return script.NotFound
	default:
		return script.NotFound
	}
	return 0
}

// boot starts a machine that is killed at the end of the test.
func boot(t *testing.T, g sim.Guest, b *sim.Boot) sim.Instance {
	t.Helper()
	if b == nil {
		b = &sim.Boot{Name: "m"}
	}
	if b.Dir == "" {
		b.Dir = filepath.Join(t.TempDir(), "state")
	}
	in, err := g.Boot(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Kill(); err != nil {
			t.Errorf("kill the machine: %v", err)
		}
	})
	return in
}

// exec runs a command to its end.
func exec(t *testing.T, in sim.Instance, c *sim.Command) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	p, err := in.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("start %q: %v", c.Argv, err)
	}
	code, err = p.Wait()
	if err != nil {
		t.Fatalf("wait for %q: %v", c.Argv, err)
	}
	return out.String(), errs.String(), code
}

func TestCommands(t *testing.T) {
	in := boot(t, script.New(programs), &sim.Boot{Name: "box"})
	rows := []struct {
		c              sim.Command
		stdout, stderr string
		code           int
	}{
		{c: sim.Command{Argv: []string{"echo", "a", "b"}}, stdout: "a b\n"},
		{c: sim.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("x\x00\xff")}, stdout: "x\x00\xff"},
		{c: sim.Command{Argv: []string{"cat"}}},
		{c: sim.Command{Argv: []string{"env"}, Env: []string{"A=1"}}, stdout: "A=1\n"},
		{c: sim.Command{Argv: []string{"env"}}, stdout: "HOME=/root\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nTERM=xterm-256color\n"},
		{c: sim.Command{Argv: []string{"id"}, Dir: "/etc", User: "1000:1000"}, stdout: "1000:1000 in /etc\n"},
		{c: sim.Command{Argv: []string{"id"}}, stdout: " in /\n"},
		{c: sim.Command{Argv: []string{"exit"}}, code: 300 & 0xff},
		{c: sim.Command{Argv: []string{"true"}}},
		{c: sim.Command{Argv: []string{"/bin/true"}}},
		{c: sim.Command{Argv: []string{"late"}}, stdout: "hm\n", stderr: "sh: late: not found\n", code: 127},
		{c: sim.Command{Argv: []string{"write", "/nope/f", "x"}}, stderr: "open /nope/f: no such file or directory\n", code: 1},
	}
	for _, r := range rows {
		stdout, stderr, code := exec(t, in, &r.c)
		if stdout != r.stdout || stderr != r.stderr || code != r.code {
			t.Errorf("%q: %q, %q, %d; want %q, %q, %d", r.c.Argv, stdout, stderr, code, r.stdout, r.stderr, r.code)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	if _, err := in.WriteFile("/bin/data", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	rows := []struct {
		what string
		ctx  context.Context
		c    sim.Command
		want error
	}{
		{"no such program", t.Context(), sim.Command{Argv: []string{"nope"}}, fs.ErrNotExist},
		{"a file that is no program", t.Context(), sim.Command{Argv: []string{"/bin/data"}}, fs.ErrPermission},
		{"no such directory", t.Context(), sim.Command{Argv: []string{"echo"}, Dir: "/nope"}, fs.ErrNotExist},
		{"no program at all", t.Context(), sim.Command{}, fs.ErrNotExist},
		{"an empty name", t.Context(), sim.Command{Argv: []string{""}}, fs.ErrNotExist},
		{"a context that has ended", cancelled, sim.Command{Argv: []string{"echo"}}, context.Canceled},
	}
	for _, r := range rows {
		if _, err := in.Start(r.ctx, &r.c); !errors.Is(err, r.want) {
			t.Errorf("%s: %v, want %v", r.what, err, r.want)
		}
	}
	if _, err := in.Start(t.Context(), &sim.Command{Argv: []string{"echo"}, Dir: "/bin/data"}); err == nil {
		t.Error("a file was accepted as the working directory")
	}
}

// lines is a writer that tests wait on.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// until waits for text to be written.
func (l *lines) until(t *testing.T, text string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.more:
		case <-limit:
			t.Fatalf("%q did not come; got %q", text, l.String())
		}
	}
}

// launch starts a command and waits for its first line.
func launch(t *testing.T, in sim.Instance, c *sim.Command, first string) (sim.Process, *lines) {
	t.Helper()
	out := newLines()
	c.Stdout = out
	p, err := in.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	out.until(t, first)
	return p, out
}

func TestSignals(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	rows := []struct {
		argv   string
		signal int
		code   int
		stdout string
	}{
		{"forever", 9, 137, "running\n"},
		{"forever", 15, 143, "running\n"},
		{"forever", 2, 130, "running\n"},
		{"polite", 15, 7, "running\nbye 15\n"},
		{"polite", 2, 7, "running\nbye 2\n"},
		{"polite", 9, 137, "running\n"},
	}
	for _, r := range rows {
		p, out := launch(t, in, &sim.Command{Argv: []string{r.argv}}, "running")
		for _, harmless := range []int{0, 18, 28} {
			if err := p.Signal(harmless); err != nil && r.argv == "forever" {
				t.Errorf("signal %d: %v", harmless, err)
			}
			if r.argv == "polite" {
				break // it would take them for its end
			}
		}
		if err := p.Signal(r.signal); err != nil {
			t.Errorf("%s: signal %d: %v", r.argv, r.signal, err)
		}
		code, err := p.Wait()
		if code != r.code || err != nil || out.String() != r.stdout {
			t.Errorf("%s after signal %d: %d, %v, %q; want %d, %q", r.argv, r.signal, code, err, out, r.code, r.stdout)
		}
		if err := p.Signal(9); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("a signal to a dead command: %v", err)
		}
	}
}

// TestDeadIsSilent kills a command that never stops writing: nothing comes after Wait.
func TestDeadIsSilent(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	p, out := launch(t, in, &sim.Command{Argv: []string{"tick"}}, "tick")
	if err := p.Signal(9); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	n := len(out.String())
	exec(t, in, &sim.Command{Argv: []string{"echo"}})
	if len(out.String()) != n {
		t.Error("a dead command wrote")
	}
}

// TestKillUnblocksReaders ends a command that waits for input which never comes.
func TestKillUnblocksReaders(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	r, w := io.Pipe()
	defer r.Close()
	defer w.Close()
	p, err := in.Start(t.Context(), &sim.Command{Argv: []string{"cat"}, Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(9); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); code != 137 || err != nil {
		t.Errorf("wait: %d, %v", code, err)
	}
}

func TestFreeze(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	p, out := launch(t, in, &sim.Command{Argv: []string{"tick"}}, "tick")
	if err := in.Freeze(); err != nil {
		t.Fatal(err)
	}
	frozen := make(chan error, 1)
	late := newLines()
	go func() {
		q, err := in.Start(t.Context(), &sim.Command{Argv: []string{"echo", "after"}, Stdout: late})
		if err == nil {
			_, err = q.Wait()
		}
		frozen <- err
	}()
	before := out.String() // one write may still be under way
	if late.String() != "" {
		t.Error("a frozen machine ran a command")
	}
	if err := in.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-frozen; err != nil || late.String() != "after\n" {
		t.Errorf("the command that waited: %v, %q", err, late)
	}
	out.until(t, before+"tick")
	if err := p.Signal(9); err != nil {
		t.Fatal(err)
	}
}

func TestKillEndsEverything(t *testing.T) {
	g := script.New(programs)
	dir := filepath.Join(t.TempDir(), "state")
	in := boot(t, g, &sim.Boot{Dir: dir, Name: "m"})
	p, _ := launch(t, in, &sim.Command{Argv: []string{"forever"}}, "running")
	if err := in.Freeze(); err != nil { // a frozen machine can be killed too
		t.Fatal(err)
	}
	if err := in.Kill(); err != nil {
		t.Fatal(err)
	}
	<-in.Done()
	if _, err := p.Wait(); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("wait for a command of a machine that was killed: %v", err)
	}
	if _, err := in.Start(t.Context(), &sim.Command{Argv: []string{"echo"}}); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("a command in a dead machine: %v", err)
	}
	if _, err := g.Adopt(t.Context(), dir); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("adopt a dead machine: %v", err)
	}
	if err := in.Kill(); err != nil {
		t.Errorf("a second kill: %v", err)
	}
	if err := g.Remove(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
}

func TestAdopt(t *testing.T) {
	g := script.New(programs)
	dir := filepath.Join(t.TempDir(), "state")
	in := boot(t, g, &sim.Boot{Dir: dir, Name: "m"})
	free, _ := launch(t, in, &sim.Command{Argv: []string{"polite"}}, "running")
	tied, _ := launch(t, in, &sim.Command{Argv: []string{"forever"}, Tied: true}, "running")
	if err := in.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := tied.Wait(); err == nil {
		t.Error("a command tied to its caller ended as if by itself")
	}
	again, err := g.Adopt(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if out, _, _ := exec(t, again, &sim.Command{Argv: []string{"echo", "there"}}); out != "there\n" {
		t.Errorf("the adopted machine says %q", out)
	}
	if err := free.Signal(15); err != nil {
		t.Fatal(err)
	}
	if code, err := free.Wait(); code != 7 || err != nil {
		t.Errorf("the command that was not tied: %d, %v", code, err)
	}
	if _, err := g.Boot(t.Context(), &sim.Boot{Dir: dir, Name: "m"}); err == nil {
		t.Error("two machines run in one directory")
	}
}

func TestBootAgainKeepsDisks(t *testing.T) {
	g := script.New(programs)
	b := &sim.Boot{Dir: filepath.Join(t.TempDir(), "state"), Name: "m"}
	in := boot(t, g, b)
	for _, name := range []string{"/workspace/kept", "/root/kept", "/tmp/lost"} {
		exec(t, in, &sim.Command{Argv: []string{"write", name, "x"}})
	}
	if err := in.Kill(); err != nil {
		t.Fatal(err)
	}
	in = boot(t, g, b)
	for name, want := range map[string]error{"/workspace/kept": nil, "/root/kept": nil, "/tmp/lost": fs.ErrNotExist} {
		f, _, err := in.ReadFile(name)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s after a boot: %v, want %v", name, err, want)
		}
	}
}

func TestCopy(t *testing.T) {
	g := script.New(programs)
	host := t.TempDir()
	src, dst := filepath.Join(host, "src"), filepath.Join(host, "dst")
	in := boot(t, g, &sim.Boot{Dir: src, Name: "m"})
	exec(t, in, &sim.Command{Argv: []string{"write", "/workspace/f", "both"}})
	if err := in.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := g.Copy(t.Context(), dst, src); err != nil {
		t.Fatal(err)
	}
	if err := in.Thaw(); err != nil {
		t.Fatal(err)
	}
	child := boot(t, g, &sim.Boot{Dir: dst, Name: "child"})
	exec(t, in, &sim.Command{Argv: []string{"write", "/workspace/f", "parent"}})
	f, fi, err := child.ReadFile("/workspace/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if string(got) != "both" || err != nil || fi.Size() != 4 {
		t.Errorf("the copy holds %q (%d), %v", got, fi.Size(), err)
	}
	if err := g.Copy(t.Context(), filepath.Join(host, "empty"), filepath.Join(host, "never booted")); err != nil {
		t.Errorf("copy of a machine that has never been booted: %v", err)
	}
}

func TestInstanceFiles(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	if n, err := in.WriteFile("/a/b/c", strings.NewReader("hello")); n != 5 || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	if _, err := in.WriteFile("/a/../../c", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "parent traversal") {
		t.Errorf("a path with ..: %v", err)
	}
	for name, want := range map[string]error{"/a/b": sim.ErrNotRegular, "/nope": fs.ErrNotExist, "/a/b/c/d": nil} {
		_, _, err := in.ReadFile(name)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("ReadFile(%q): %v, want %v", name, err, want)
		}
	}
}

func TestBootRefuses(t *testing.T) {
	g := script.New(programs)
	if _, err := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Image: "repo/missing:1"}); !errors.Is(err, sim.ErrNoImage) {
		t.Errorf("an image that cannot be pulled: %v", err)
	}
	gone := sim.Mount{Source: filepath.Join(t.TempDir(), "gone"), Target: "/x"}
	if _, err := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Mounts: []sim.Mount{gone}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a mount whose source is gone: %v", err)
	}
	if _, err := g.Adopt(t.Context(), t.TempDir()); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("adopt where nothing runs: %v", err)
	}
}

func TestDialFindsNobody(t *testing.T) {
	in := boot(t, script.New(nil), nil)
	if c, err := in.Dial(t.Context(), 80); err == nil {
		c.Close()
		t.Error("somebody listens")
	}
}

// TestGoexit ends a function as a failed assertion of a test does; the command must end all the same.
func TestGoexit(t *testing.T) {
	in := boot(t, script.New(func(_ context.Context, c *script.Call) int {
		fmt.Fprint(c.Stdout, "before")
		runtime.Goexit()
		return 0
	}), nil)
	out, _, code := exec(t, in, &sim.Command{Argv: []string{"x"}})
	if diff := cmp.Diff([]any{"before", 1}, []any{out, code}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
