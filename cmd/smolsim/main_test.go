package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/api"
	main "github.com/smol-machines/smol-go/cmd/smolsim"
)

// asProgram is set in the environment of a test binary that is to be smolsim.
const asProgram = "SMOLSIM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv("SMOL_LOCAL_URL") != "" && os.Getenv(clientMode) == "1":
		os.Exit(client())
	case os.Getenv("SMOL_CLOUD_URL") != "" && os.Getenv(clientOfCloud) == "1":
		os.Exit(cloudClient())
	case os.Getenv(asProgram) == "1":
		main.Main()
		return
	}
	os.Exit(m.Run())
}

// command is smolsim as a process with a home of its own, killed if it outlives the test.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	home := t.TempDir()
	cmd.Env = []string{
		asProgram + "=1", "GORACE=atexit_sleep_ms=0", "HOME=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"SystemRoot=" + os.Getenv("SystemRoot"), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"),
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// smolsim runs the program to its end.
func smolsim(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestVersion(t *testing.T) {
	for _, flag := range []string{"--version", "-V"} {
		stdout, stderr, code := smolsim(t, nil, flag)
		if diff := cmp.Diff([]any{"smolvm 1.14.5\nhypervisor: none\n", "", 0}, []any{stdout, stderr, code}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", flag, diff)
		}
	}
}

func TestHelp(t *testing.T) {
	stdout, stderr, code := smolsim(t, nil, "--help")
	if stderr != "" || code != 0 {
		t.Errorf("%q, exit %d", stderr, code)
	}
	for _, want := range []string{"serve start", "serve openapi", "run [--keep] [--cloud] -- CMD", "cloud --token-file FILE", "--version"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the help does not tell of %q:\n%s", want, stdout)
		}
	}
	for _, args := range [][]string{{"serve", "start", "--help"}, {"serve", "openapi", "-h"}, {"run", "--help"}, {"serve", "--help"}} {
		stdout, stderr, code := smolsim(t, nil, args...)
		if !strings.Contains(stdout, "Usage: smolsim") || stderr != "" || code != 0 {
			t.Errorf("%q: %q, %q, %d", args, stdout, stderr, code)
		}
	}
}

// TestMistakes makes the mistakes that a caller can make; those in the command line exit with 2, the others with 1.
func TestMistakes(t *testing.T) {
	long := strings.Repeat("x", 200)
	invalid := func(addr string) string {
		return "Error: invalid address '" + addr + "': expected a valid ADDR:PORT or a unix:// path\n"
	}
	port := "Error: config operation failed: bind guest rollout ingress: SMOLVM_GUEST_ROLLOUT_HOST_PORT must be an integer between 1 and 65535\n"
	rows := []struct {
		args []string
		env  []string
		code int
		want string // the beginning of stderr
	}{
		{nil, nil, 2, "smolsim stands where"},
		{[]string{"machine"}, nil, 2, "error: unrecognized subcommand 'machine'"},
		{[]string{"serve", "stop"}, nil, 2, "error: unrecognized subcommand 'serve stop'"},
		{[]string{"serve", "start", "--nope"}, nil, 2, "error: flag provided but not defined: -nope"},
		{[]string{"serve", "start", "extra"}, nil, 2, "error: unexpected argument 'extra' found"},
		{[]string{"serve", "start", "--seccomp", "maybe"}, nil, 2, "error: invalid value 'maybe' for '--seccomp <MODE>'"},
		{[]string{"serve", "start", "--landlock", "audit"}, nil, 2, "error: invalid value 'audit' for '--landlock <MODE>'"},
		{[]string{"serve", "start", "--shutdown-grace", "3601"}, nil, 2, "error: invalid value '3601' for '--shutdown-grace <SECS>'"},
		{[]string{"serve", "start", "--shutdown-grace", "-1"}, nil, 2, "error: invalid value '-1' for '--shutdown-grace <SECS>'"},
		{[]string{"serve", "start", "-l", "localhost:8080"}, nil, 1, invalid("localhost:8080")},
		{[]string{"serve", "start", "-l", ":8080"}, nil, 1, invalid(":8080")},
		{[]string{"serve", "start", "--listen", "http://127.0.0.1:8080"}, nil, 1, invalid("http://127.0.0.1:8080")},
		{[]string{"serve", "start", "--listen=unix://"}, nil, 1, invalid("unix://")},
		{[]string{"serve", "start", "-l", ""}, nil, 1, invalid("")},
		{[]string{"serve", "start", "--imitate", long}, nil, 1, "Error: "},
		{[]string{"serve", "start"}, []string{"SMOLVM_GUEST_ROLLOUT_HOST_PORT=0"}, 1, port},
		{[]string{"serve", "start"}, []string{"SMOLVM_GUEST_ROLLOUT_HOST_PORT=65536"}, 1, port},
		{[]string{"serve", "start"}, []string{"SMOLVM_GUEST_ROLLOUT_HOST_PORT=a"}, 1, port},
		{[]string{"serve", "start"}, []string{"SMOLVM_SERVE_TLS_CERT=x"}, 1, "Error: SMOLVM_SERVE_TLS_CERT is set"},
		{[]string{"serve", "start", "--fault", "{"}, nil, 2, "error: invalid value '{' for '--fault <JSON>': "},
		{[]string{"serve", "start", "--fault", "{}{}"}, nil, 2, "error: invalid value '{}{}' for '--fault <JSON>': there is more"},
		{[]string{"serve", "start", "--fault", `{"nope":1}`}, nil, 2, `error: invalid value '{"nope":1}' for '--fault <JSON>': json: unknown field`},
		{[]string{"serve", "start", "--fault", `{"delay":"1"}`}, nil, 2, `error: invalid value '{"delay":"1"}' for '--fault <JSON>': time: missing unit`},
		{[]string{"serve", "start", "--fault", `{"status":42}`}, nil, 2, `error: invalid value '{"status":42}' for '--fault <JSON>': status is from`},
		{[]string{"serve", "start", "--fault", `{"action":"restart"}`}, nil, 2, `error: invalid value '{"action":"restart"}' for '--fault <JSON>': the action is one of pass, fail,`},
		{[]string{"serve", "openapi", "-f", "xml"}, nil, 2, "error: invalid value 'xml' for '--format <FORMAT>'"},
		{[]string{"serve", "openapi", "extra"}, nil, 2, "error: unexpected argument 'extra' found"},
		{[]string{"run"}, nil, 2, "error: a command is missing"},
		{[]string{"run", "--"}, nil, 2, "error: a command is missing"},
		{[]string{"run", "--nope", "true"}, nil, 2, "error: flag provided but not defined: -nope"},
	}
	for _, r := range rows {
		stdout, stderr, code := smolsim(t, r.env, r.args...)
		if stdout != "" || code != r.code || !strings.HasPrefix(stderr, r.want) {
			t.Errorf("smolsim %.60q: exit %d, %q, %q; want exit %d, %q", r.args, code, stdout, stderr, r.code, r.want)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "doc")
	rows := []struct {
		args []string
		want []byte
	}{
		{[]string{}, api.LocalJSON},
		{[]string{"-f", "json"}, api.LocalJSON},
		{[]string{"--format", "yaml"}, api.Local},
		{[]string{"-f", "yaml", "-o", file}, api.Local},
	}
	for _, r := range rows {
		stdout, stderr, code := smolsim(t, nil, append([]string{"serve", "openapi"}, r.args...)...)
		got := []byte(stdout)
		if len(r.args) == 4 {
			var err error
			if got, err = os.ReadFile(file); err != nil || stdout != "" {
				t.Errorf("%v: stdout %q", err, stdout)
			}
		}
		if !bytes.Equal(got, r.want) || len(got) == 0 || stderr != "" || code != 0 {
			t.Errorf("%q: %d bytes of %d, %q, exit %d", r.args, len(got), len(r.want), stderr, code)
		}
	}
	if _, stderr, code := smolsim(t, nil, "serve", "openapi", "-o", t.TempDir()); code != 1 || !strings.HasPrefix(stderr, "Error: ") {
		t.Errorf("a directory as the output: %q, exit %d", stderr, code)
	}
}

// TestNoHome starts without any idea of where data could lie.
func TestNoHome(t *testing.T) {
	_, stderr, code := smolsim(t, []string{"HOME=", "USERPROFILE=", "LOCALAPPDATA="}, "serve", "start", "-l", "127.0.0.1:1")
	if code != 1 || !strings.HasPrefix(stderr, "Error: no place for data: set SMOLVM_DATA_DIR") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// TestNoSandbox runs the program where it cannot make machines: it says so before it does anything.
func TestNoSandbox(t *testing.T) {
	if runtime.GOOS == "linux" {
		return // the sandbox has tests of its own for kernels that refuse
	}
	_, stderr, code := smolsim(t, nil, "run", "--", "true")
	if code != 1 || !strings.Contains(stderr, "Linux namespaces") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
