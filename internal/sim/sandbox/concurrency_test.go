//go:build linux

package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/sim"
)

// Whoever kills a machine, and however many do, it is gone when Kill returns.
func TestKilledByManyAtOnce(t *testing.T) {
	g := sandboxGuest(t)
	for range rounds.N(3) {
		m := boot(t, sim.Boot{})
		m.start(&sim.Command{Argv: []string{"sh", "-c", "while :; do sleep 0.01 & wait; done"}})
		killers := []sim.Instance{m.Instance, m.Instance}
		for range 4 {
			other, err := g.Adopt(t.Context(), m.dir)
			if err != nil {
				t.Fatal(err)
			}
			killers = append(killers, other)
		}
		var all errgroup.Group
		for _, killer := range killers {
			all.Go(func() error {
				err := killer.Kill()
				if e := syscall.Kill(m.PID(), 0); e != syscall.ESRCH {
					t.Errorf("process 1 after Kill: %v", e)
				}
				<-killer.Done()
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Error(err)
		}
		assertNoMachine(t, m.dir)
	}
}

// Everything that is under way when a machine is killed ends, with an error that says so.
func TestKilledInTheMiddle(t *testing.T) {
	for range rounds.N(3) {
		m := boot(t, sim.Boot{})
		var all sync.WaitGroup
		working := make(chan struct{}, 64)
		until := func(what string, f func() error) {
			all.Go(func() {
				for {
					err := f()
					select {
					case working <- struct{}{}:
					default:
					}
					if err == nil {
						continue
					}
					if !errors.Is(err, sim.ErrNotRunning) && !errors.Is(err, syscall.ECONNREFUSED) {
						t.Errorf("%s: %v", what, err)
					}
					if errors.Is(err, sim.ErrNotRunning) {
						return
					}
				}
			})
		}
		for i := range 4 {
			until("command", func() error {
				p, err := m.Start(t.Context(), &sim.Command{Argv: []string{"sh", "-c", "echo x"}, Stdout: io.Discard, WaitOutput: -1})
				if err != nil {
					return err
				}
				_, err = p.Wait()
				return err
			})
			until("write", func() error {
				_, err := m.WriteFile(fmt.Sprintf("/root/f%d", i), strings.NewReader("text"))
				return err
			})
			until("read", func() error {
				f, _, err := m.ReadFile("/etc/hostname")
				if err == nil {
					f.Close()
				}
				return err
			})
			until("dial", func() error {
				c, err := m.Dial(t.Context(), 1)
				if err == nil {
					c.Close()
				}
				return err
			})
			until("freeze", func() error { return errors.Join(m.Freeze(), m.Thaw()) })
		}
		for range cap(working) {
			<-working
		}
		if err := m.Kill(); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}

// Writers of one file do not mix, and readers see one of them whole.
func TestWritersOfOneFile(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.write("/srv/f", strings.Repeat("a", 100_000))
	var all errgroup.Group
	for i := range 8 {
		all.Go(func() error {
			_, err := m.WriteFile("/srv/f", strings.NewReader(strings.Repeat(string(rune('a'+i)), 100_000)))
			return err
		})
		all.Go(func() error {
			f, fi, err := m.ReadFile("/srv/f")
			if err != nil {
				return err
			}
			defer f.Close()
			b, err := io.ReadAll(f)
			if len(b) != 100_000 || fi.Size() != 100_000 || strings.Trim(string(b), string(b[:1])) != "" {
				t.Errorf("a mixed file of %d bytes", len(b))
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := m.shell("ls -A /srv"); got != "f" {
		t.Errorf("left behind: %q", got)
	}
}

// A machine that makes processes as fast as it can stands still when it is frozen, and goes on afterwards.
func TestFreezeWhileForking(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.start(&sim.Command{Argv: []string{"sh", "-c", "while :; do (echo >>/tmp/log); /bin/true & wait; done"}})
	m.start(&sim.Command{Argv: []string{"bash", "-c", "while :; do f() { echo >>/tmp/log; }; f | f; done"}})
	eventually(t, "they run", func() bool { return m.shell("test -s /tmp/log && echo yes || true") == "yes" })
	size := func() int64 {
		f, fi, err := m.ReadFile("/tmp/log")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		return fi.Size()
	}
	for range rounds.N(10) {
		if err := m.Freeze(); err != nil {
			t.Fatal(err)
		}
		before := size()
		for range 20 {
			if after := size(); after != before {
				t.Fatalf("a frozen machine wrote %d bytes", after-before)
			}
		}
		if err := m.Thaw(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "they go on", func() bool { return size() > before })
	}
}

func TestFrozenByManyAtOnce(t *testing.T) {
	g := sandboxGuest(t)
	m := boot(t, sim.Boot{})
	var all errgroup.Group
	for i := range 8 {
		freezer := m.Instance
		if i%2 == 0 {
			other, err := g.Adopt(t.Context(), m.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Release()
			freezer = other
		}
		all.Go(func() error { return errors.Join(freezer.Freeze(), freezer.Thaw()) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := m.shell("echo alive"); got != "alive" {
		t.Errorf("afterwards: %q", got)
	}
}

// One command that is not read does not hold up another.
func TestOneSlowReader(t *testing.T) {
	m := boot(t, sim.Boot{})
	blocked := &gate{open: make(chan struct{})}
	slow := m.start(&sim.Command{Argv: []string{"head", "-c", "1000000", "/dev/zero"}, Stdout: blocked, WaitOutput: -1})
	for range 20 {
		if got := m.shell("head -c 100000 /dev/zero | wc -c"); got != "100000" {
			t.Fatalf("beside a slow reader: %q", got)
		}
	}
	close(blocked.open)
	if code, err := slow.Wait(); code != 0 || err != nil || blocked.n != 1_000_000 {
		t.Errorf("the slow one: exit %d, %v, %d bytes", code, err, blocked.n)
	}
}

// gate is a writer that takes nothing until it is opened.
type gate struct {
	open chan struct{}
	n    int
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	g.n += len(b)
	return len(b), nil
}

func TestWaitedForByMany(t *testing.T) {
	m := boot(t, sim.Boot{})
	var out bytes.Buffer
	p := m.start(&sim.Command{Argv: []string{"sh", "-c", "echo once; exit 5"}, Stdout: &out, WaitOutput: -1})
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			code, err := p.Wait()
			if code != 5 {
				t.Errorf("exit %d", code)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "once\n" {
		t.Errorf("output %q", out.String())
	}
}

// A command that nobody waits for ends all the same, and leaves no descriptor behind in process 1.
func TestNotWaitedFor(t *testing.T) {
	m := boot(t, sim.Boot{})
	for range 50 {
		m.start(&sim.Command{Argv: []string{"true"}})
	}
	eventually(t, "all have ended and been let go", func() bool {
		return m.shell("pgrep -xc true || true") == "0" && len(m.shell("ls /proc/1/fd")) < 100
	})
}

func TestAdoptedByManyAtOnce(t *testing.T) {
	g := sandboxGuest(t)
	m := boot(t, sim.Boot{})
	var all errgroup.Group
	for range 16 {
		all.Go(func() error {
			other, err := g.Adopt(t.Context(), m.dir)
			if err != nil {
				return err
			}
			defer other.Release()
			if got := (&machine{Instance: other, t: t}).shell("hostname"); got != "test" {
				t.Errorf("adopted %q", got)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A machine that ends while it is adopted is not running, or was adopted and is done.
func TestAdoptedWhileKilled(t *testing.T) {
	g := sandboxGuest(t)
	for range rounds.N(10) {
		m := boot(t, sim.Boot{})
		killed := make(chan error)
		go func() { killed <- m.Kill() }()
		other, err := g.Adopt(t.Context(), m.dir)
		if err == nil {
			<-other.Done()
		} else if !errors.Is(err, sim.ErrNotRunning) {
			t.Errorf("%v", err)
		}
		if err := <-killed; err != nil {
			t.Error(err)
		}
	}
}

// The descriptors of this process are as many after many machines as before.
func TestDescriptorsAreClosed(t *testing.T) {
	g := sandboxGuest(t)
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	once := func(i int) {
		dir := filepath.Join(t.TempDir(), "m")
		spec := &sim.Boot{Dir: dir, Mounts: []sim.Mount{{Source: os.TempDir(), Target: "/data", ReadOnly: true}}}
		if i%2 == 1 {
			spec.Mounts[0].Target = "/usr/not/there" // fails on the way
		}
		m, err := g.Boot(t.Context(), spec)
		if err != nil {
			return
		}
		wrapped := &machine{Instance: m, t: t}
		wrapped.run(&sim.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("x")})
		wrapped.run(&sim.Command{Argv: []string{"true"}, TTY: true})
		wrapped.write("/tmp/f", "x")
		wrapped.read("/tmp/f")
		if err := m.Kill(); err != nil {
			t.Error(err)
		}
		eventually(t, "the instance is closed", func() bool { return m.Release() == nil })
	}
	once(0)
	before := count()
	for i := range rounds.N(10) {
		once(i)
	}
	eventually(t, fmt.Sprintf("no more than the %d descriptors there were", before), func() bool { return count() <= before })
}
