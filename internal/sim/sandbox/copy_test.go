//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
)

// describe prints what a copy must keep.
const describe = `cd "$1" && find . ! -type s -printf '%P %y %m %U:%G %s %TY-%Tm-%Td %TT %l\n' | sort; find . -type f -size -1M -exec cksum {} + | sort -k3`

func TestCopy(t *testing.T) {
	g := sandboxGuest(t)
	src := boot(t, sim.Boot{})
	src.shell(`cd /root
		mkdir -p deep/er; echo text >deep/er/f; chmod 600 deep/er/f
		printf '#!/bin/sh\n' >run; chmod 4755 run
		ln -s deep/er/f link; ln -s /nowhere dangling; ln -s .. up
		echo two >one; ln one deep/two
		mkfifo fifo; : >empty
		truncate -s 1T sparse; echo end >>sparse
		mkdir -m 0 shut; mkdir shut/in; echo shut >shut/in/f; chmod 0 shut/in/f shut/in; echo none >none; chmod 0 none
		touch -d '2001-02-03 04:05:06.789' old; mkdir olddir; touch -d '1999-01-01' olddir
		echo odd >"$(printf 'a\nb\377')"; echo dash >-rf
		echo work >/workspace/w; mkdir -m 1777 /workspace/sticky`)
	if os.Geteuid() == 0 {
		src.shell("chown 1000:50 /root/deep/er/f; chown -h 7:8 /root/link")
	}
	src.start(&sim.Command{Argv: []string{"sh", "-c", "exec bash -c 'exec 3<>/dev/null; sleep 1000'"}})
	if err := src.Freeze(); err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "copy")
	if err := g.Copy(t.Context(), dst, src.dir); err != nil {
		t.Fatal(err)
	}
	if err := src.Thaw(); err != nil {
		t.Fatal(err)
	}
	child := boot(t, sim.Boot{Dir: dst, Name: "child"})
	for _, dir := range []string{"/root", "/workspace", "/var"} {
		argv := []string{"sh", "-c", describe, "sh", dir}
		want, got := src.run(&sim.Command{Argv: argv}), child.run(&sim.Command{Argv: argv})
		if diff := cmp.Diff(want, got); diff != "" || want.Code != 0 || !strings.Contains(want.Stdout, "\n") {
			t.Errorf("%s (-source +copy):\n%s", dir, diff)
		}
	}
	if got := child.shell("stat -c %h /root/one; tail -c 4 /root/sparse; du -k /root/sparse | cut -f1"); !strings.HasPrefix(got, "2\nend\n") || len(got) > 12 {
		t.Errorf("links, the end of a terabyte and what it takes: %q", got)
	}
	child.shell("echo changed >/root/deep/er/f")
	if got := src.shell("cat /root/deep/er/f; hostname"); got != "text\ntest" {
		t.Errorf("the source after its copy was changed: %q", got)
	}
}

func TestCopyRefused(t *testing.T) {
	g := sandboxGuest(t)
	src, existing := boot(t, sim.Boot{}), t.TempDir()
	if err := g.Copy(t.Context(), existing, src.dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("to what exists: %v", err)
	}
	if _, err := os.Stat(existing); err != nil {
		t.Errorf("what existed: %v", err)
	}
	if err := g.Copy(t.Context(), filepath.Join(existing, "x"), "/nonexistent/dir"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("from what does not exist: %v", err)
	}
	empty := filepath.Join(existing, "empty")
	if err := g.Copy(t.Context(), empty, t.TempDir()); err != nil {
		t.Errorf("of a machine that was never started: %v", err)
	}
	src.shell("dd if=/dev/zero of=/root/big bs=1M count=32 2>/dev/null")
	for limit := time.Duration(0); limit < time.Second; limit += limit/2 + 100*time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		dst := filepath.Join(existing, "cancelled")
		err := g.Copy(ctx, dst, src.dir)
		cancel()
		if err == nil {
			if limit == 0 {
				t.Error("a copy without any time was made")
			}
			break
		}
		if _, statErr := os.Stat(dst); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(statErr, fs.ErrNotExist) {
			t.Errorf("after %v: %v, and left behind: %v", limit, err, statErr)
		}
	}
}

func TestRemove(t *testing.T) {
	g := sandboxGuest(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := boot(t, sim.Boot{})
	m.shell("mkdir -p /root/a/b/c; echo f >/root/a/b/c/f; ln -s " + outside + " /root/a/link; ln -s " + filepath.Dir(outside) + " /root/a/dir; chmod 0 /root/a/b/c/f /root/a/b/c /root/a/b /root/a; chmod 500 /root /workspace")
	if os.Geteuid() == 0 {
		m.shell("mkdir /root/x; chown -R 1234:1234 /root/x")
	}
	if err := g.Remove(m.dir); err == nil || !strings.Contains(err.Error(), "a machine runs there") {
		t.Errorf("while it runs: %v", err)
	}
	if m.shell("echo alive") != "alive" {
		t.Error("a remove that was refused did something")
	}
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(m.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(m.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	if got, err := os.ReadFile(outside); string(got) != "kept" || err != nil {
		t.Errorf("what a link led to: %q, %v", got, err)
	}
	if err := g.Remove(m.dir); err != nil {
		t.Errorf("second Remove: %v", err)
	}
	for _, dir := range []string{"", ".", "/", "//", "a/.."} {
		if err := g.Remove(dir); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("remove %q: %v", dir, err)
		}
	}
}

// A link in the place of a state directory goes, and what it leads to stays.
func TestRemoveOfALink(t *testing.T) {
	g := sandboxGuest(t)
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.MkdirAll(filepath.Join(kept, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(link); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(kept, "root")); err != nil {
		t.Errorf("what it led to: %v", err)
	}
}
