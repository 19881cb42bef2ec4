//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// Nothing that this process has open can be seen in a machine, not even what it forgot to close on exec.
func TestNoDescriptorLeaks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		fd, err := unix.Open(secret, unix.O_RDONLY, 0) // without O_CLOEXEC
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
	}
	m := boot(t, sim.Boot{Mounts: []sim.Mount{{Source: t.TempDir(), Target: "/m"}}})
	m.shell("sleep 1000 >/dev/null 2>&1 &")
	links := m.shell(`for f in /proc/[0-9]*/fd/*; do readlink $f || :; done`)
	ok := regexp.MustCompile(`^(/dev/null|socket:.*|pipe:.*|anon_inode:.*|/proc/\d+/fd|)$`)
	for link := range strings.SplitSeq(links, "\n") {
		if !ok.MatchString(link) {
			t.Errorf("a descriptor leads to %q", link)
		}
	}
	if got := m.shell("ls /proc/self/fd"); got != "0\n1\n2\n3" { // 3 is the directory that ls reads
		t.Errorf("descriptors of a command: %q", got)
	}
	if got := m.shell("readlink /proc/self/fd/0; readlink /proc/self/cwd /proc/1/cwd /proc/1/root"); got != "/dev/null\n/\n/\n/" {
		t.Errorf("where things lead: %q", got)
	}
}

func TestEnvironmentOfProcess1(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "1")
	m := boot(t, sim.Boot{})
	if got := m.shell("tr '\\0' '\\n' </proc/1/environ; cat /proc/1/comm"); strings.Contains(got, "SECRET") || !strings.Contains(got, "HOME=/root\nPATH=") || !strings.HasSuffix(got, "\nsmol-machine") {
		t.Errorf("environment and name of process 1: %q", got)
	}
}

// Root in the machine is nobody special on the host.
func TestRootIsNotRootOnTheHost(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.start(&sim.Command{Argv: []string{"sleep", "1000"}})
	want := fmt.Sprint(os.Geteuid())
	if want == "0" {
		want = "100000"
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	seen := 0
	for _, stat := range append(stats, fmt.Sprintf("/proc/%d/stat", m.PID())) {
		dir := filepath.Dir(stat)
		if _, parent := stateOf(stat); parent != m.PID() && dir != fmt.Sprintf("/proc/%d", m.PID()) {
			continue
		}
		status, _ := os.ReadFile(dir + "/status")
		ids := regexp.MustCompile(`(?m)^Uid:(.*)$`).FindStringSubmatch(string(status))
		if ids == nil {
			continue
		}
		seen++
		for id := range strings.FieldsSeq(ids[1]) {
			if id != want {
				t.Errorf("%s: user %s on the host, want %s", dir, id, want)
			}
		}
	}
	if seen < 2 {
		t.Errorf("only %d processes of the machine found", seen)
	}
}

func TestHostCannotBeChangedThroughProc(t *testing.T) {
	m := boot(t, sim.Boot{})
	before, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"echo x >/proc/sys/kernel/core_pattern",
		"umount -l /proc/sys/kernel/random/boot_id; mount -o remount,rw /proc; echo x >/proc/sys/kernel/core_pattern",
		"mkdir -p /p && mount -t proc proc /p && echo x >/p/sys/kernel/core_pattern",
		"echo h >/proc/sysrq-trigger",
		"echo 1 >/proc/sys/vm/drop_caches",
		"mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk",
		"mount /dev/vda /mnt",
		"echo x >/proc/1/root/proc/sys/kernel/core_pattern",
	} {
		if r := m.run(&sim.Command{Argv: []string{"sh", "-c", script}}); r.Code == 0 {
			t.Errorf("%s: succeeded", script)
		}
	}
	if after, err := os.ReadFile("/proc/sys/kernel/core_pattern"); string(after) != string(before) || err != nil {
		t.Errorf("core_pattern of the host was %q and is %q, %v", before, after, err)
	}
}

func TestMachineSeesOnlyItself(t *testing.T) {
	m := boot(t, sim.Boot{})
	id := m.shell("cat /proc/sys/kernel/random/boot_id")
	host, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || strings.TrimSpace(string(host)) == id {
		t.Errorf("boot id %q is the host's, %v", id, err)
	}
	if got := m.shell("echo /proc/[0-9]*"); len(strings.Fields(got)) > 2 {
		t.Errorf("processes: %q", got)
	}
	if got := m.shell("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '"); got != "lo" {
		t.Errorf("networks: %q", got)
	}
	if r := m.run(&sim.Command{Argv: []string{"ls", os.TempDir() + "/"}}); r.Stdout != "" {
		t.Errorf("the host's temporary files: %q", r.Stdout)
	}
	if got := m.run(&sim.Command{Argv: []string{"touch", "/usr/x"}}); got.Code == 0 {
		t.Error("/usr can be written")
	}
	// The root of the mount namespace is the machine's, not only that of its processes, which root could leave.
	if got := m.shell("nsenter --mount=/proc/1/ns/mnt ls -d /workspace " + m.dir + " 2>/dev/null || :"); got != "/workspace" {
		t.Errorf("from the root of the mount namespace: %q", got)
	}
}

// Accidents have an end.
func TestLimits(t *testing.T) {
	m := boot(t, sim.Boot{})
	if got := m.shell("ulimit -u 2>/dev/null || bash -c 'ulimit -u'"); got != "4096" {
		t.Errorf("processes: %q", got)
	}
	if got := m.shell("grep 'core file' /proc/self/limits | tr -s ' '"); got != "Max core file size 1 1 bytes " && got != "Max core file size 0 0 bytes " {
		t.Errorf("core files: %q", got)
	}
	for dir, want := range map[string]string{"/run": "65536", "/dev/shm": "65536", "/tmp": "1048576"} {
		if got := m.shell("df -k --output=size " + dir + " | tail -n 1 | tr -d ' '"); got != want {
			t.Errorf("%s has %q KiB, want %s", dir, got, want)
		}
	}
	if got := m.run(&sim.Command{Argv: []string{"dd", "if=/dev/zero", "of=/dev/shm/f", "bs=1M", "count=100"}}); got.Code == 0 || !strings.Contains(got.Stderr, "No space left") {
		t.Errorf("filling /dev/shm: %+v", got)
	}
}
