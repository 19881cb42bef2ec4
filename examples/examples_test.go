package examples_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol/smoltest"
)

// runExample builds examples/name and runs it against a stand-in of the local service. It returns what the program wrote and its exit
// code, after checking that it left no machine behind.
func runExample(t *testing.T, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	sim := smoltest.NewLocal(t, nil)
	bin := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), "SMOL_LOCAL_URL="+sim.URL())
	var outBuf, errBuf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outBuf, &errBuf
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for info, err := range sim.Service(t).List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s left the machine %s behind", name, info.Name)
	}
	return outBuf.String(), errBuf.String(), cmd.ProcessState.ExitCode()
}

func TestExamples(t *testing.T) {
	tests := []struct {
		name string
		want string // the whole of stdout
		errs string // the whole of stderr
	}{
		{name: "hello", want: "Linux\n1024\n"},
		{name: "stream", want: "line 1\nline 2\nline 3\nexit status 3\n", errs: "that was all\n"},
		{name: "files", want: "HELLO\nsrc/hello.txt 6\nsrc/loud.txt 6\nsrc/run.sh 42\n"},
		{name: "branch", want: "first:\nprepared once\ntried the first idea\nsecond:\nprepared once\ntried the second idea\n"},
	}
	covered := map[string]bool{"walkthrough": true}
	for _, tt := range tests {
		covered[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := runExample(t, tt.name)
			if code != 0 || stdout != tt.want || stderr != tt.errs {
				t.Errorf("exit code %d\nstdout:\n%s\nwant:\n%s\nstderr:\n%s\nwant:\n%s", code, stdout, tt.want, stderr, tt.errs)
			}
		})
	}
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, path := range mains {
		if !covered[filepath.Dir(path)] {
			t.Errorf("%s is run by no test", path)
		}
	}
}

// TestWalkthrough runs the demo on a module whose tests pass and on one with a test that fails.
func TestWalkthrough(t *testing.T) {
	write := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	module := func(body string) string {
		dir := t.TempDir()
		write(dir, "go.mod", "module example.com/m\n\ngo 1.26\n")
		write(dir, "a/a_test.go", "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n")
		write(dir, "b/b_test.go", "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { "+body+" }\n")
		return dir
	}
	t.Run("passes", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := runExample(t, "walkthrough", "-dir", module(""))
		if code != 0 || !strings.Contains(stdout, "2 packages ok") || !strings.Contains(stdout, "gave the machine back") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("fails", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := runExample(t, "walkthrough", "-dir", module(`t.Error("made to fail")`))
		if code != 1 || !strings.Contains(stdout, "made to fail") || !strings.Contains(stdout, "1 packages ok") ||
			!strings.Contains(stdout, "gave the machine back") || !regexp.MustCompile(`go test: exit status 1`).MatchString(stderr) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
}
