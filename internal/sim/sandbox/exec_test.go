//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

func TestCommand(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.shell("mkdir -p /srv/app/bin; printf '#!/bin/sh\necho app $0' >/srv/app/bin/tool; chmod +x /srv/app/bin/tool")
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	stock := "HOME=/root\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nTERM=xterm-256color\n"
	for _, row := range []struct {
		name string
		cmd  sim.Command
		want result
	}{
		{"success", sim.Command{Argv: []string{"true"}}, result{}},
		{"failure", sim.Command{Argv: sh("echo out; echo err >&2; exit 7")}, result{"out\n", "err\n", 7}},
		{"death by a signal", sim.Command{Argv: sh("kill -9 $$")}, result{Code: 137}},
		{"a group of its own", sim.Command{Argv: sh("kill -TERM -$$")}, result{Code: 143}},
		{"default environment", sim.Command{Argv: []string{"env"}}, result{Stdout: stock}},
		{"empty environment", sim.Command{Argv: []string{"env"}, Env: []string{}}, result{}},
		{"own environment", sim.Command{Argv: []string{"env"}, Env: []string{"A=b=c", "B="}}, result{Stdout: "A=b=c\nB=\n"}},
		{"PATH of its own", sim.Command{Argv: []string{"tool"}, Env: []string{"PATH=/nonexistent:/srv/app/bin"}}, result{Stdout: "app /srv/app/bin/tool\n"}},
		{"last PATH counts", sim.Command{Argv: []string{"tool"}, Env: []string{"PATH=/x", "PATH=/srv/app/bin"}}, result{Stdout: "app /srv/app/bin/tool\n"}},
		{"relative PATH", sim.Command{Argv: []string{"tool"}, Env: []string{"PATH=bin"}, Dir: "/srv/app"}, result{Stdout: "app /srv/app/bin/tool\n"}},
		{"relative program", sim.Command{Argv: []string{"bin/tool"}, Dir: "/srv/app"}, result{Stdout: "app bin/tool\n"}},
		{"directory", sim.Command{Argv: []string{"pwd"}, Dir: "/srv/app"}, result{Stdout: "/srv/app\n"}},
		{"no input", sim.Command{Argv: []string{"cat"}}, result{}},
		{"input", sim.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("in")}, result{Stdout: "in"}},
		{"input that nobody reads", sim.Command{Argv: []string{"true"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}, result{}},
		{"root by name", sim.Command{Argv: []string{"id", "-u"}, User: "root"}, result{Stdout: "0\n"}},
		{"bytes that are not text", sim.Command{Argv: []string{"printf", "%s", "a\xff\x01\n\"z"}}, result{Stdout: "a\xff\x01\n\"z"}},
		{"an empty argument", sim.Command{Argv: []string{"printf", "[%s]", "", "x"}}, result{Stdout: "[][x]"}},
		{"an argument of 128 KiB", sim.Command{Argv: sh("printf %s \"$0\" | wc -c"), Env: []string{"PATH=/usr/bin:/bin"}}, result{Stdout: "131000\n"}},
	} {
		if strings.HasPrefix(row.name, "an argument of") {
			row.cmd.Argv = append(row.cmd.Argv, strings.Repeat("x", 131000))
		}
		if diff := cmp.Diff(row.want, m.run(&row.cmd)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestCommandRefused(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.shell("mkdir /srv; echo text >/srv/text; printf 'no header' >/srv/garbage; printf '#!/nonexistent\n' >/srv/orphan; chmod +x /srv/garbage /srv/orphan")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	ok := []string{"true"}
	for _, row := range []struct {
		name string
		cmd  sim.Command
		want error
		text string
	}{
		{"no program", sim.Command{Argv: []string{"no-such-program"}}, fs.ErrNotExist, "no-such-program"},
		{"no program at the path", sim.Command{Argv: []string{"/srv/nothing"}}, fs.ErrNotExist, "/srv/nothing"},
		{"empty program", sim.Command{Argv: []string{""}}, fs.ErrNotExist, "exec"},
		{"no argv", sim.Command{}, nil, "no command"},
		{"no directory", sim.Command{Argv: ok, Dir: "/nowhere"}, fs.ErrNotExist, "/nowhere"},
		{"directory is a file", sim.Command{Argv: ok, Dir: "/srv/text"}, syscall.ENOTDIR, "/srv/text"},
		{"not executable", sim.Command{Argv: []string{"/srv/text"}}, fs.ErrPermission, "/srv/text"},
		{"not executable in PATH", sim.Command{Argv: []string{"text"}, Env: []string{"PATH=/srv"}}, fs.ErrPermission, "/srv/text"},
		{"a directory", sim.Command{Argv: []string{"/srv"}}, fs.ErrPermission, "/srv"},
		{"not a program", sim.Command{Argv: []string{"/srv/garbage"}}, syscall.ENOEXEC, "/srv/garbage"},
		{"no interpreter", sim.Command{Argv: []string{"/srv/orphan"}}, fs.ErrNotExist, "/srv/orphan"},
		{"empty PATH", sim.Command{Argv: ok, Env: []string{"PATH=/nonexistent"}}, fs.ErrNotExist, "true"},
		{"NUL in an argument", sim.Command{Argv: []string{"echo", "a\x00b"}}, syscall.EINVAL, "argument"},
		{"NUL in the environment", sim.Command{Argv: ok, Env: []string{"A=\x00"}}, syscall.EINVAL, "environment"},
		{"NUL in the directory", sim.Command{Argv: ok, Dir: "/\x00"}, syscall.EINVAL, "directory"},
		{"unknown user", sim.Command{Argv: ok, User: "stranger"}, sim.ErrNoUser, "stranger"},
		{"hostile user", sim.Command{Argv: ok, User: "../root:x:0"}, sim.ErrNoUser, "../root"},
		{"id beyond the machine's", sim.Command{Argv: ok, User: "70000"}, sim.ErrNoUser, "70000"},
		{"argument too long", sim.Command{Argv: []string{"echo", strings.Repeat("x", 1<<20)}}, syscall.E2BIG, "too long"},
		{"arguments too long", sim.Command{Argv: []string{"echo", strings.Repeat("x", sandbox.MaxFrame)}}, syscall.E2BIG, "too long"},
	} {
		_, err := m.Start(t.Context(), &row.cmd)
		if err == nil || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if _, err := m.Start(cancelled, &sim.Command{Argv: ok}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if m.shell("echo alive") != "alive" {
		t.Error("the machine does not run commands any more")
	}
}

// A start that is cancelled leaves nothing running, at whatever moment that comes.
func TestStartCancelled(t *testing.T) {
	m := boot(t, sim.Boot{})
	cancelled := 0
	for limit := time.Duration(0); limit < time.Second; limit += limit/8 + 20*time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		p, err := m.Start(ctx, &sim.Command{Argv: []string{"sleep", "1234"}})
		cancel()
		if err == nil {
			if err := p.Signal(int(syscall.SIGKILL)); err != nil {
				t.Error(err)
			}
			p.Wait()
			if limit > 100*time.Millisecond {
				break
			}
			continue
		}
		cancelled++
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", limit, err)
		}
	}
	if cancelled == 0 {
		t.Error("no start was cancelled")
	}
	eventually(t, "nothing runs", func() bool { return m.shell("pgrep -xc sleep || true") == "0" })
}

func TestSignal(t *testing.T) {
	m := boot(t, sim.Boot{})
	var ready strings.Builder
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := m.start(&sim.Command{Argv: []string{"sh", "-c", `trap 'kill $!; exit 3' USR1; sleep 1000 & echo ready; wait`}, Stdout: w})
	w.Close()
	buf := make([]byte, 6)
	if _, err := r.Read(buf); err != nil || string(buf) != "ready\n" {
		t.Fatal(ready.String(), err)
	}
	if err := p.Signal(int(syscall.SIGUSR1)); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); code != 3 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
	if err := p.Signal(int(syscall.SIGUSR1)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to a command that has ended: %v", err)
	}
	for _, sig := range []int{-1, 65, 1 << 30} {
		if err := p.Signal(sig); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("signal %d: %v", sig, err)
		}
	}
	group := m.start(&sim.Command{Argv: []string{"sh", "-c", "sleep 1000 & sleep 1000"}})
	if err := group.Signal(int(syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if code, err := group.Wait(); code != 137 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
	eventually(t, "the whole group is dead", func() bool { return m.shell("pgrep -c sleep || true") == "0" })
}

// Signals from inside do not reach process 1, whichever they are.
func TestMachineCannotKillItself(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.run(&sim.Command{Argv: []string{"sh", "-c", "sleep 1000 & kill -9 -1"}})
	m.shell("i=0; while [ $((i+=1)) -le 64 ]; do kill -$i 1; done; :")
	if got := m.shell("echo alive; pgrep -c sleep || true"); got != "alive\n0" {
		t.Errorf("after every signal: %q", got)
	}
	if ended(m) {
		t.Error("the machine ended")
	}
}

func TestOrphansAreReaped(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.shell("for i in 1 2 3 4 5 6 7 8; do (sh -c 'exit 1' & ) & done; wait")
	eventually(t, "no zombie", func() bool { return m.shell("grep -l '^State:.Z' /proc/[0-9]*/status || true") == "" })
}

func TestCommandsAtOnce(t *testing.T) {
	m := boot(t, sim.Boot{})
	var all errgroup.Group
	for i := range 64 {
		all.Go(func() error {
			p, err := m.Start(t.Context(), &sim.Command{Argv: []string{"sh", "-c", "exit " + string(rune('0'+i%10))}})
			if err != nil {
				return err
			}
			if code, err := p.Wait(); code != i%10 || err != nil {
				t.Errorf("exit %d, %v, want %d", code, err, i%10)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestKillEndsCommands(t *testing.T) {
	m := boot(t, sim.Boot{})
	p := m.start(&sim.Command{Argv: []string{"sh", "-c", "echo begun; exec sleep 1000"}, Stdout: &strings.Builder{}, WaitOutput: -1})
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); !errors.Is(err, sim.ErrNotRunning) || code == 0 {
		t.Errorf("exit %d, %v", code, err)
	}
}
