package examples_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/smol/smoltest"
)

// scripted are machines in which `go test` takes no time: it reads what it is to report from the module, and fails if that has a FAIL.
var scripted = smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
	report, ok := strings.CutPrefix(strings.Join(c.Argv, " "), "sh -c go test ./... >")
	report, _, _ = strings.Cut(report, " ")
	text, err := c.ReadFile(filepath.ToSlash(filepath.Join(c.Dir, "report")))
	if !ok || err != nil {
		fmt.Fprintln(c.Stderr, c.Argv, err)
		return smoltest.NotFound
	}
	if err := c.WriteFile(report, text, 0o644); err != nil {
		fmt.Fprintln(c.Stderr, err)
		return 2
	}
	if strings.Contains(string(text), "FAIL") {
		return 1
	}
	return 0
})

// module writes a Go module with two packages, and a report for the scripted machines.
func module(t *testing.T, report, body string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"report":      report,
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { " + body + " }\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWalkthrough does the whole job on both fleets: on modules that pass, that fail and that test nothing.
func TestWalkthrough(t *testing.T) {
	rows := []struct {
		name, report   string
		code           int
		stdout, stderr string
	}{
		{"passes", "ok  \texample.com/m/a\t0.1s\nok  \texample.com/m/b\t0.1s\n", 0, "ran its tests: 2 packages ok", `^$`},
		{"fails", "ok  \texample.com/m/a\t0.1s\nFAIL\texample.com/m/b\t0.1s\n", 1, "ran its tests: 1 packages ok", `^walkthrough: go test: exit status 1\n$`},
		{"tests nothing", "?   \texample.com/m/a\t[no test files]\n", 1, "ran its tests: 0 packages ok", `^walkthrough: go test: no package was tested\n$`},
	}
	for fleet, start := range fleets {
		t.Run(fleet, func(t *testing.T) {
			t.Parallel()
			s := start(t, scripted)
			for _, r := range rows {
				got := s.program(t, "walkthrough", "-fleet", fleet, "-dir", module(t, r.report, ""))
				if got.Code != r.code || !regexp.MustCompile(r.stderr).MatchString(got.Stderr) {
					t.Errorf("%s: exit code %d, stderr %q", r.name, got.Code, got.Stderr)
				}
				// The wait is announced before it begins, and the report comes before its count.
				order := regexp.MustCompile(`(?s)borrowed the machine .*running its tests….*` + regexp.QuoteMeta(r.report) + `.*` +
					regexp.QuoteMeta(r.stdout) + `.*gave the machine back\n$`)
				if !order.MatchString(got.Stdout) {
					t.Errorf("%s: stdout:\n%s", r.name, got.Stdout)
				}
			}
		})
	}
}

// TestWalkthroughForReal runs the go command in a machine, on one package that passes and one that does not.
func TestWalkthroughForReal(t *testing.T) {
	t.Parallel()
	got := fleets["local"](t, nil).program(t, "walkthrough", "-dir", module(t, "", `t.Error("made to fail")`))
	if got.Code != 1 || !strings.Contains(got.Stdout, "made to fail") || !strings.Contains(got.Stdout, "1 packages ok") ||
		!strings.Contains(got.Stdout, "gave the machine back") || !strings.Contains(got.Stderr, "go test: exit status 1") {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestWalkthroughMistakes names directories without a module: that is said before a machine is borrowed.
func TestWalkthroughMistakes(t *testing.T) {
	t.Parallel()
	s := fleets["local"](t, scripted)
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none"), "walkthrough/main.go"} {
		got := s.program(t, "walkthrough", "-dir", dir)
		if got.Code != 1 || !strings.HasPrefix(got.Stderr, "walkthrough: -dir "+dir+" is no directory with a Go module: ") {
			t.Errorf("%s: exit code %d, %q", dir, got.Code, got.Stderr)
		}
	}
	if n := s.made(); n != 0 {
		t.Errorf("%d machines were asked for", n)
	}
}
