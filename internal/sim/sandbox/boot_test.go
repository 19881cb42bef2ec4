//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

func TestBoot(t *testing.T) {
	m := boot(t, sim.Boot{Name: "web-1"})
	if got := m.shell("hostname; cat /etc/hostname; pwd; id -u"); got != "web-1\nweb-1\n/\n0" {
		t.Errorf("hostname, its file, directory and user: %q", got)
	}
	if m.PID() <= 0 || syscall.Kill(m.PID(), 0) != nil {
		t.Errorf("PID %d is no process", m.PID())
	}
	if !strings.Contains(m.Console(), "mount /proc") {
		t.Errorf("console: %q", m.Console())
	}
	if ended(m) {
		t.Error("a machine that runs is done")
	}
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if !ended(m) {
		t.Error("a machine that was killed is not done")
	}
	if err := syscall.Kill(m.PID(), 0); err != syscall.ESRCH {
		t.Errorf("process 1 after Kill: %v", err)
	}
	if err := m.Kill(); err != nil {
		t.Errorf("second Kill: %v", err)
	}
	if _, err := m.Start(t.Context(), &sim.Command{Argv: []string{"true"}}); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("start in a machine that was killed: %v", err)
	}
}

// The address of a Unix socket has 108 bytes, a directory may have a longer name.
func TestBootInADeepDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 50), strings.Repeat("er", 100), "m")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	boot(t, sim.Boot{Dir: dir})
	adopted, err := sandboxGuest(t).Adopt(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer adopted.Release()
	if got := (&machine{Instance: adopted, t: t}).shell("echo alive"); got != "alive" {
		t.Errorf("%q", got)
	}
}

func TestHostname(t *testing.T) {
	for name, want := range map[string]string{
		"a":                     "a",
		"web-1":                 "web-1",
		"0":                     "0",
		"":                      "container",
		"Web":                   "container",
		"a_b":                   "container",
		"a.b":                   "container",
		"-a":                    "container",
		"a-":                    "container",
		strings.Repeat("a", 63): strings.Repeat("a", 63),
		strings.Repeat("a", 64): "container",
		"a\x00":                 "container",
		"ä":                     "container",
	} {
		if got := sandbox.Hostname(name); got != want {
			t.Errorf("machine %q has the hostname %q, want %q", name, got, want)
		}
	}
	if got := boot(t, sim.Boot{Name: "Not A Label"}).shell("hostname"); got != "container" {
		t.Errorf("hostname %q", got)
	}
}

func TestBootAgainKeepsDisks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	first := boot(t, sim.Boot{Dir: dir, Name: "one"})
	first.shell("echo disk >/root/f; echo work >/workspace/f; echo gone >/tmp/f; echo gone >/run/f; echo gone >/dev/shm/f")
	first.shell("echo changed >/etc/passwd; rm /etc/hosts; mkfifo /etc/hosts")
	id := first.shell("cat /proc/sys/kernel/random/boot_id")
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	second := boot(t, sim.Boot{Dir: dir, Name: "two"})
	if got := second.shell("cat /root/f /workspace/f /etc/passwd; ls /tmp /run /dev/shm/"); !strings.HasPrefix(got, "disk\nwork\nchanged\n") || strings.Contains(got, "f\n") {
		t.Errorf("disks after a second boot: %q", got)
	}
	if got := second.shell("hostname; grep -c two /etc/hosts"); got != "two\n1" {
		t.Errorf("names after a second boot: %q", got)
	}
	if again := second.shell("cat /proc/sys/kernel/random/boot_id"); again == id || !regexp.MustCompile(`^[0-9a-f-]{36}$`).MatchString(again) {
		t.Errorf("boot ids %q and %q", id, again)
	}
}

// A guest that unmounts and replaces what the next boot mounts on must not make that boot touch the host.
func TestBootStaysInsideHostileRoot(t *testing.T) {
	g := sandboxGuest(t)
	dir, outside := filepath.Join(t.TempDir(), "m"), t.TempDir()
	if err := os.Chmod(outside, 0o777); err != nil {
		t.Fatal(err)
	}
	first := boot(t, sim.Boot{Dir: dir})
	first.shell("rm -rf /etc /home 2>/dev/null; umount -l /etc/* ; rm -rf /etc /home; ln -s " + outside + " /etc; ln -s ../../../../.." + outside + " /home")
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	second, err := g.Boot(t.Context(), &sim.Boot{Dir: dir, Name: "x"})
	if err == nil {
		second.Kill()
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("a boot wrote to the host through links of the guest: %v, %v", left, err)
	}
}

func TestBootRefuses(t *testing.T) {
	g := sandboxGuest(t)
	running := boot(t, sim.Boot{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := syscall.Flock(int(busy.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name string
		ctx  context.Context
		boot sim.Boot
		want error
		text string
	}{
		{"no directory", t.Context(), sim.Boot{}, fs.ErrNotExist, "state directory"},
		{"no parent", t.Context(), sim.Boot{Dir: "/nonexistent/a/b"}, fs.ErrNotExist, "/nonexistent/a/b"},
		{"a file", t.Context(), sim.Boot{Dir: file}, syscall.ENOTDIR, file},
		{"a NUL", t.Context(), sim.Boot{Dir: "/tmp/a\x00b"}, syscall.EINVAL, "state directory"},
		{"running already", t.Context(), sim.Boot{Dir: running.dir}, nil, "a machine runs in " + running.dir},
		{"being booted by another", t.Context(), sim.Boot{Dir: busy.Name()}, syscall.EWOULDBLOCK, busy.Name()},
		{"cancelled", cancelled, sim.Boot{Dir: t.TempDir()}, context.Canceled, "canceled"},
		{"missing image", t.Context(), sim.Boot{Dir: t.TempDir(), Image: "ghcr.io/a/missing:1"}, sim.ErrNoImage, "ghcr.io/a/missing:1"},
	} {
		m, err := g.Boot(row.ctx, &row.boot)
		if err == nil {
			m.Kill()
			t.Errorf("%s: booted", row.name)
			continue
		}
		if row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if running.shell("echo alive") != "alive" {
		t.Error("the machine that runs was disturbed")
	}
}

// What lies in the place of a disk is not shown as one, whatever it leads to.
func TestBootOfAStrangeDirectory(t *testing.T) {
	g := sandboxGuest(t)
	for _, name := range []string{"root", "workspace"} {
		for what, put := range map[string]func(string) error{
			"a link to the host's root": func(at string) error { return os.Symlink("/", at) },
			"a dangling link":           func(at string) error { return os.Symlink("/nonexistent", at) },
			"a file":                    func(at string) error { return os.WriteFile(at, nil, 0o600) },
		} {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			m, err := g.Boot(t.Context(), &sim.Boot{Dir: dir})
			if err == nil {
				m.Kill()
			}
			if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
				t.Errorf("%s as %s: %v", what, name, err)
			}
			assertNoMachine(t, dir)
		}
	}
}

func TestBootOnlyOnceAtATime(t *testing.T) {
	g := sandboxGuest(t)
	dir := filepath.Join(t.TempDir(), "m")
	machines := make(chan sim.Instance, 8)
	var all errgroup.Group
	for range cap(machines) {
		all.Go(func() error {
			if m, err := g.Boot(t.Context(), &sim.Boot{Dir: dir}); err == nil {
				machines <- m
			}
			return nil
		})
	}
	all.Wait()
	if len(machines) != 1 {
		t.Errorf("%d machines in one directory", len(machines))
	}
	for range len(machines) {
		(<-machines).Kill()
	}
}

func TestBootManyAtOnce(t *testing.T) {
	g := sandboxGuest(t)
	dir := t.TempDir()
	machines := make([]sim.Instance, rounds.Soak(24, 64))
	var all errgroup.Group
	for i := range machines {
		all.Go(func() (err error) {
			machines[i], err = g.Boot(t.Context(), &sim.Boot{Dir: filepath.Join(dir, string(rune('A'+i))), Name: "many"})
			return err
		})
	}
	err := all.Wait()
	pids := map[int]bool{}
	for _, m := range machines {
		if m == nil {
			continue
		}
		pids[m.PID()] = true
		all.Go(m.Kill)
	}
	if err := errors.Join(err, all.Wait()); err != nil {
		t.Fatal(err)
	}
	if len(pids) != len(machines) {
		t.Errorf("%d machines have %d processes", len(machines), len(pids))
	}
}

func TestBootCancelled(t *testing.T) {
	g := sandboxGuest(t)
	dir := t.TempDir()
	// Given a little longer each time, so that the end comes in every stage at least once.
	for limit := time.Duration(0); ; limit += limit/4 + 500*time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		m, err := g.Boot(ctx, &sim.Boot{Dir: dir})
		cancel()
		if err == nil {
			if limit == 0 {
				t.Error("a boot without any time booted")
			}
			if err := m.Kill(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", limit, err)
		}
		assertNoMachine(t, dir)
	}
}
