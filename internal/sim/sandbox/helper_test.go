//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// helper is this test binary as another process.
func helper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	c.Env = append(os.Environ(), helperEnv+"="+name)
	return c
}

// bootAndWait boots a machine in args[0] with a command that is tied to this process and one that is not, and goes on until it is
// killed.
func bootAndWait(args []string) error {
	m, err := sandbox.New(nil).Boot(context.Background(), &sim.Boot{Dir: args[0], Name: "left"})
	if err != nil {
		return err
	}
	for _, c := range []sim.Command{
		{Argv: []string{"sleep", "1001"}, Tied: true, Stdout: os.Stdout},
		{Argv: []string{"sleep", "1002"}},
	} {
		if _, err := m.Start(context.Background(), &c); err != nil {
			return err
		}
	}
	fmt.Println(m.PID())
	select {}
}

// inNamespaces runs a helper as root of namespaces of its own: a stand-in for the container that tests may run in.
func inNamespaces(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	ids := []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	c := helper(t, name, dir)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: ids, GidMappings: ids}
	if os.Geteuid() == 0 {
		ids[0] = syscall.SysProcIDMap{HostID: 200000, Size: 65536}
		c.SysProcAttr.Credential = &syscall.Credential{}
		c.SysProcAttr.GidMappingsEnableSetgroups = true
		if err := os.Chown(dir, 200000, 200000); err != nil {
			t.Fatal(err)
		}
		for d := filepath.Dir(dir); d != os.TempDir(); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String()
}

// bootHere boots a machine, runs a command in it, and prints what came of it.
func bootHere(dir string) error {
	m, err := sandbox.New(nil).Boot(context.Background(), &sim.Boot{Dir: dir, Name: "inner"})
	if err != nil {
		return err
	}
	defer m.Kill()
	p, err := m.Start(context.Background(), &sim.Command{Argv: []string{"hostname"}, Stdout: os.Stdout})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

func bootNested(args []string) error { return bootHere(args[0]) }

// bootUnderMaskedProc covers a file of /proc as container engines do.
func bootUnderMaskedProc(args []string) error {
	if err := unix.Mount("/dev/null", "/proc/timer_list", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return bootHere(args[0])
}

// bootWithoutNamespaces takes the namespaces away, as an administrator does.
func bootWithoutNamespaces(args []string) error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return err
	}
	return bootHere(args[0])
}

func TestBootInsideNamespaces(t *testing.T) {
	boot(t, sim.Boot{}) // where this does not work the rest says nothing
	for _, row := range []struct {
		helper string
		want   []string
	}{
		{"nested machine", []string{"inner\n"}},
		{"masked proc", []string{"sandbox: mount /proc: operation not permitted (", "systempaths=unconfined"}},
		{"no namespaces", []string{"sandbox: create process:", "no space left on device", "sysctl -w user.max_user_namespaces="}},
	} {
		got := inNamespaces(t, row.helper)
		for _, want := range row.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q does not contain %q", row.helper, got, want)
			}
		}
	}
}

func TestExplainsItself(t *testing.T) {
	for _, row := range []struct {
		step, sysctl, value string
		err                 error
		want                string
	}{
		{"create process", "user.max_user_namespaces", "0", syscall.ENOSPC, "user.max_user_namespaces is 0: sysctl -w user.max_user_namespaces="},
		{"create process", "kernel.unprivileged_userns_clone", "0", syscall.EPERM, "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"create process", "", "", syscall.EPERM, "--security-opt seccomp=unconfined"},
		{"create process", "", "", syscall.EACCES, "executable by others"},
		{"create process", "", "", syscall.EINVAL, "Linux 5.12"},
		{"create process", "", "", syscall.EAGAIN, "ulimit -u"},
		{"create process", "", "", syscall.EMFILE, "ulimit -n"},
		{"create process", "kernel.apparmor_restrict_unprivileged_userns", "1", syscall.EPERM, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		{"make mounts private", "kernel.apparmor_restrict_unprivileged_userns", "1", syscall.EACCES, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		{"make mounts private", "", "", syscall.EACCES, "apparmor=unconfined"},
		{"mount /proc", "", "", syscall.EPERM, "systempaths=unconfined"},
		{"bind /data", "", "", syscall.EACCES, "searchable by others"},
		{"bind /usr", "", "", syscall.ENOSYS, "Linux 5.12"},
		{"loopback up", "", "", syscall.EPERM, ""},
		{"mount /proc", "", "", errors.New("something else"), ""},
	} {
		sysctl := func(name string) string {
			if name == row.sysctl {
				return row.value
			}
			return ""
		}
		got := sandbox.Remedy(row.step, fmt.Errorf("wrapped: %w", row.err), sysctl)
		if !strings.Contains(got, row.want) || row.want == "" && got != "" {
			t.Errorf("%s: %v, %s=%q: remedy %q, want %q", row.step, row.err, row.sysctl, row.value, got, row.want)
		}
	}
}
