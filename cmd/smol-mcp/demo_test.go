package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// demo runs the program's demo and returns its exit code and what it printed.
func demo(t *testing.T, bin string, env ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, "demo")
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "SMOLVM=smolvm-is-not-installed"}, env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestDemo does the whole job on machines that run real programs.
func TestDemo(t *testing.T) {
	t.Parallel()
	simtest.Sandbox(t)
	program(t, "smolsim")
	code, stdout, stderr := demo(t, program(t, "smol-mcp"))
	want := `(?s)^the fleet: local, \S+smolsim.* connect .*create-machine .* is gone\n *\d+\.\d\ds  counted 1229 primes below 10000, 3 lines of a job in the background and 45 bytes of its report, in \d+ calls\n$`
	if code != 0 || !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestDemoFails runs the demo where the job cannot be done, and where it is done wrong.
func TestDemoFails(t *testing.T) {
	t.Parallel()
	alone := filepath.Join(t.TempDir(), filepath.Base(program(t, "smol-mcp")))
	data, err := os.ReadFile(program(t, "smol-mcp"))
	if err == nil {
		err = writeProgram(alone, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := demo(t, alone, "SMOL_MCP_RUNTIME_DIR="+runDir(t))
	if code != 1 || !strings.Contains(stderr, "go install") || strings.Contains(stdout, "counted") {
		t.Errorf("without a service: exit code %d\n%s%s", code, stdout, stderr)
	}
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] != "awk" {
			return smoltest.NotFound
		}
		fmt.Fprintln(c.Stdout, 2)
		return 0
	})})
	code, stdout, stderr = demo(t, alone, "SMOL_LOCAL_URL="+l.URL(), "SMOL_MCP_RUNTIME_DIR="+runDir(t))
	if code != 1 || !strings.Contains(stderr, "1 primes below 10000; there are 1229") || strings.Contains(stdout, "counted") || !strings.Contains(stdout, "is gone") {
		t.Errorf("with an awk that cannot count: exit code %d\n%s%s", code, stdout, stderr)
	}
}
