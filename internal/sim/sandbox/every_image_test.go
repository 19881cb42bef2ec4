//go:build linux

package sandbox_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// What a caller relies on is the same whatever the machine is made of.
func TestEveryImage(t *testing.T) {
	for _, image := range []string{"", "debian", "busybox", "dash", "bash", "golang"} {
		m := boot(t, sim.Boot{Name: "web", Image: image})
		for _, row := range []struct {
			name string
			cmd  sim.Command
			want result
		}{
			{"host name and user", sim.Command{Argv: []string{"sh", "-c", "hostname; id -u; echo $HOME $TERM; pwd"}}, result{Stdout: "web\n0\n/root xterm-256color\n/\n"}},
			{"streams", sim.Command{Argv: []string{"sh", "-c", "cat; echo err >&2; exit 3"}, Stdin: strings.NewReader("in")}, result{"in", "err\n", 3}},
			{"its own device files", sim.Command{Argv: []string{"sh", "-c", "echo x >/dev/null; head -c 3 /dev/zero | wc -c; test -c /dev/urandom; cat </dev/stdin >/dev/stdout"}, Stdin: strings.NewReader("in\n")}, result{Stdout: "3\nin\n"}},
			{"terminal", sim.Command{Argv: []string{"sh", "-c", "test -t 0 && stty size"}, TTY: true, Rows: 5, Cols: 6, WaitOutput: -1}, result{Stdout: "5 6\r\n"}},
			{"names of users", sim.Command{Argv: []string{"sh", "-c", "id -un; stat -c %U /root; grep -c ^nobody: /etc/passwd"}}, result{Stdout: "root\nroot\n1\n"}},
			{"directories to write in", sim.Command{Argv: []string{"sh", "-c", "for d in / /root /tmp /var/tmp /run /dev/shm /workspace /home /etc; do echo x >$d/probe && rm $d/probe || echo $d; done"}}, result{}},
			{"modes of the common ones", sim.Command{Argv: []string{"stat", "-c", "%a %n", "/tmp", "/var/tmp", "/dev/shm", "/root"}}, result{Stdout: "1777 /tmp\n1777 /var/tmp\n1777 /dev/shm\n700 /root\n"}},
			{"loopback", sim.Command{Argv: []string{"sh", "-c", "grep -c 127.0.0.1 /etc/hosts; grep -c : /proc/net/dev"}}, result{Stdout: "1\n1\n"}},
			{"orphans and their session", sim.Command{Argv: []string{"sh", "-c", "setsid sh -c 'sleep 0.05; echo left >/tmp/left' >/dev/null 2>&1 & exit 0"}}, result{}},
		} {
			if diff := cmp.Diff(row.want, m.run(&row.cmd)); diff != "" {
				t.Errorf("%q: %s (-want +got):\n%s", image, row.name, diff)
			}
		}
		eventually(t, "what was left in the background goes on", func() bool {
			f, _, err := m.ReadFile("/tmp/left")
			if err == nil {
				f.Close()
			}
			return err == nil
		})
		if _, err := m.Start(t.Context(), &sim.Command{Argv: []string{"no-such-program"}}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: a program that is not there: %v", image, err)
		}
		m.write("/root/a/b", "text")
		if got := m.shell("cat /root/a/b"); got != "text" {
			t.Errorf("%q: a file: %q", image, got)
		}
	}
}

// Images are not shared: what one machine changes, another does not see, and a machine can be booted with another image later.
func TestMachinesAreApart(t *testing.T) {
	one, two := boot(t, sim.Boot{Image: "busybox", Name: "one"}), boot(t, sim.Boot{Image: "busybox", Name: "two"})
	one.shell("rm /bin/ls; echo x >/etc/x; kill -9 -1; :")
	if got := two.shell("ls /etc/x 2>&1; hostname; ls -d /bin"); !strings.HasSuffix(got, "two\n/bin") || !strings.Contains(got, "No such file") {
		t.Errorf("beside a machine that was changed: %q", got)
	}
	if err := one.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := two.shell("echo alive"); got != "alive" {
		t.Errorf("beside a machine that was killed: %q", got)
	}
}

// The agent is the same program as this one, so it must not do what this program does at its start: a test binary with flags of
// its own, or the output of its own.
func TestConsoleIsOnlySteps(t *testing.T) {
	console := boot(t, sim.Boot{}).Console()
	for line := range strings.SplitSeq(strings.TrimSuffix(console, "\n"), "\n") {
		if len(line) < 16 || line[0] != '[' || line[13] != ']' {
			t.Errorf("console line %q", line)
		}
	}
	if !strings.HasPrefix(console, "[ host       ] state directory\n") {
		t.Errorf("console begins with %.60q", console)
	}
}

func FuzzIDMap(f *testing.F) {
	f.Add("         0          0 4294967295\n")
	f.Add("0 100000 65536\n65536 1 1\n")
	f.Add("")
	f.Add("0 0")
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := sandbox.ParseIDRanges(text)
		if err != nil {
			return
		}
		uid, _, root := sandbox.ChooseIdentity(0, 0, ids, ids)
		if uid.Size < 1 || uid.HostID < 0 || root && uid.HostID == 0 {
			t.Errorf("%q gives %+v, root %v", text, uid, root)
		}
	})
}

func FuzzImageName(f *testing.F) {
	for _, name := range []string{"", "alpine", "a/b:c@sha256:d", ":", "@", "/", "missing", "\x00"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		kind, err := sandbox.KindOf(name)
		if (err == nil) == (kind == "") || err != nil && !errors.Is(err, sim.ErrNoImage) {
			t.Errorf("%q is %q, %v", name, kind, err)
		}
	})
}
