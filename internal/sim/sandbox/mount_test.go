//go:build linux

package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// shared makes a directory with a file in it, below one that nobody else can search.
func shared(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "closed", "shared")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // not through the umask; for file systems that cannot translate owners
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMounts(t *testing.T) {
	writable, readOnly := shared(t), shared(t)
	m := boot(t, sim.Boot{Mounts: []sim.Mount{
		{Source: writable, Target: "/data/in"},
		{Source: readOnly, Target: "/workspace/ro", ReadOnly: true},
		{Source: writable, Target: "/tmp/again/"},
	}})
	if got := m.shell("cat /data/in/f /workspace/ro/f /tmp/again/f"); got != "host\nhost\nhost" {
		t.Errorf("files of the host: %q", got)
	}
	m.shell("echo guest >/data/in/new")
	if got, err := os.ReadFile(filepath.Join(writable, "new")); string(got) != "guest\n" || err != nil {
		t.Errorf("what the machine wrote: %q, %v", got, err)
	}
	for _, script := range []string{"echo x >/workspace/ro/new", "rm /workspace/ro/f", "chmod 0 /workspace/ro", "mkdir /workspace/ro/d"} {
		r := m.run(&sim.Command{Argv: []string{"sh", "-c", script}})
		if r.Code == 0 || !strings.Contains(r.Stderr, "Read-only") {
			t.Errorf("%s: %+v", script, r)
		}
	}
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := sandboxGuest(t).Remove(m.dir); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{writable, readOnly} {
		if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
			t.Errorf("after the machine was removed: %v", err)
		}
	}
}

// As root a mount has the owners that it has on the host, unless its file system cannot do that, which the console tells.
func TestMountOwners(t *testing.T) {
	dir := shared(t)
	m := boot(t, sim.Boot{Mounts: []sim.Mount{{Source: dir, Target: "/data"}}})
	got := m.shell("stat -c %u /data/f; touch /data/new; stat -c %u /data/new")
	if strings.Contains(m.Console(), "mount /data: its file system cannot translate owners") {
		if got != "65534\n0" {
			t.Errorf("owners that are not translated: %q", got)
		}
		return
	}
	fi, err := os.Stat(filepath.Join(dir, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := fi.Sys().(*syscall.Stat_t).Uid; got != "0\n0" || int(owner) != os.Geteuid() {
		t.Errorf("owners %q in the machine and %d on the host", got, owner)
	}
}

func TestMountsRefused(t *testing.T) {
	dir := shared(t)
	file := filepath.Join(dir, "f")
	g := sandboxGuest(t)
	for _, row := range []struct {
		mount sim.Mount
		want  error
		text  string
	}{
		{sim.Mount{Source: dir, Target: ""}, nil, "the target is not an absolute path"},
		{sim.Mount{Source: dir, Target: "data"}, nil, "the target is not an absolute path"},
		{sim.Mount{Source: dir, Target: "/a\x00b"}, nil, "the target is not an absolute path"},
		{sim.Mount{Source: dir, Target: "/"}, nil, "cover what the machine needs"},
		{sim.Mount{Source: dir, Target: "/proc/x"}, nil, "cover what the machine needs"},
		{sim.Mount{Source: dir, Target: "/dev"}, nil, "cover what the machine needs"},
		{sim.Mount{Source: dir, Target: "/data/../dev"}, nil, "has a .. in it"},
		{sim.Mount{Source: "", Target: "/data"}, nil, "the source is not an absolute path"},
		{sim.Mount{Source: "relative", Target: "/data"}, nil, "the source is not an absolute path"},
		{sim.Mount{Source: "/nonexistent/x", Target: "/data"}, fs.ErrNotExist, "/nonexistent"},
		{sim.Mount{Source: file, Target: "/data"}, syscall.ENOTDIR, file},
		{sim.Mount{Source: dir, Target: "/usr/nothing/there"}, syscall.EROFS, "make /usr/nothing/there"},
		{sim.Mount{Source: dir, Target: "/etc/hosts"}, syscall.EEXIST, "make /etc/hosts"},
	} {
		state := t.TempDir()
		m, err := g.Boot(t.Context(), &sim.Boot{Dir: state, Mounts: []sim.Mount{row.mount}})
		if err == nil {
			m.Kill()
			t.Errorf("%+v: booted", row.mount)
			continue
		}
		if e := (*sandbox.Error)(nil); !errors.As(err, &e) || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%+v: %v", row.mount, err)
		}
		assertNoMachine(t, state)
	}
}

// A source may be a link to the directory.
func TestMountThroughALink(t *testing.T) {
	dir := shared(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	m := boot(t, sim.Boot{Mounts: []sim.Mount{{Source: link, Target: "/data"}}})
	if got := m.shell("cat /data/f"); got != "host" {
		t.Errorf("%q", got)
	}
}
