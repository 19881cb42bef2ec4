package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// tmp is a temporary directory of its own for a program, with its place in the environment.
func tmp(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "t") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir, []string{"TMPDIR=" + dir}
}

func left(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRunCodes(t *testing.T) {
	simtest.Sandbox(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		argv           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"sh", "-c", "exit 7"}, 7, "", ""},
		{[]string{"true"}, 0, "", ""},
		{[]string{"sh", "-c", "echo out; echo err >&2"}, 0, "out\n", "err\n"},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, "", ""},
		{[]string{"sh", "-c", `[ -S "${SMOL_LOCAL_URL#unix://}" ] && stat -c %a "${SMOL_LOCAL_URL#unix://}"`}, 0, "600\n", ""},
		{[]string{"no-such-program"}, 127, "", `smolsim: exec: "no-such-program": executable file not found in $PATH` + "\n"},
		{[]string{plain}, 126, "", "smolsim: fork/exec " + plain + ": permission denied\n"},
	}
	dir, env := tmp(t)
	for _, r := range rows {
		stdout, stderr, code := smolsim(t, env, append([]string{"run", "--"}, r.argv...)...)
		if code != r.code || stdout != r.stdout || stderr != r.stderr {
			t.Errorf("%q: exit %d, %q, %q; want exit %d, %q, %q", r.argv, code, stdout, stderr, r.code, r.stdout, r.stderr)
		}
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left in the temporary directory: %v", names)
	}
}

// clientMode makes this binary a client that leaves a machine with a process in it, says which process the machine is, and exits with 7.
const clientMode = "SMOLSIM_TEST_AS_CLIENT"

func client() int {
	svc, err := local.New(local.OptionsFromEnv())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	m, err := svc.Create(ctx, smol.Spec{Name: "m"}, nil)
	if err == nil {
		err = m.Shell("sleep 1000 </dev/null >/dev/null 2>&1 &").Run(ctx)
	}
	var info *smol.Info
	if err == nil {
		info, err = m.Info(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(info.PID)
	return 7
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRunCleansUp leaves a machine running, in every way in which a command can end.
func TestRunCleansUp(t *testing.T) {
	simtest.Sandbox(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, env := tmp(t)
	env = append(env, clientMode+"=1") // the command is this binary again, as a client
	stdout, stderr, code := smolsim(t, env, "run", "--", self)
	if code != 7 || stderr != "" {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	if pid := number(t, stdout); alive(pid) {
		t.Errorf("process %d of the machine is left", pid)
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left in the temporary directory: %v", names)
	}

	stdout, stderr, code = smolsim(t, env, "run", "--keep", "--", self)
	names := left(t, dir)
	if code != 7 || len(names) != 1 || stderr != "smolsim: kept "+names[0]+"\n" {
		t.Fatalf("with --keep: exit %d, %q, left %v", code, stderr, names)
	}
	if pid := number(t, stdout); alive(pid) {
		t.Errorf("process %d of the machine that is kept is left", pid)
	}
	if logs, err := filepath.Glob(filepath.Join(names[0], "data", "vms", "*", "console.log")); err != nil || len(logs) != 1 {
		t.Errorf("the console is not kept: %v, %v", logs, err)
	}
}
