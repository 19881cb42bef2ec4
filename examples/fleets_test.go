package examples_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outputs are what the examples that work on both fleets write; it is the same on both.
var outputs = map[string]result{
	"hello":  {Stdout: "Linux\n1024\n"},
	"stream": {Stdout: "line 1\nline 2\nline 3\nexit status 3\n", Stderr: "that was all\n"},
	"files":  {Stdout: "HELLO\nsrc/hello.txt 6\nsrc/loud.txt 6\nsrc/run.sh 42\n"},
	"jobs":   {Stdout: "step 1\na process of ours was killed; the job goes on\nstep 2\nstep 3\nthe job exited with 3\n"},
	"race":   {Stdout: "plus wins:\necho $(($1 + $2))\n"},
	"branch": {Stdout: "first:\nprepared once\ntried the first idea\nsecond:\nprepared once\ntried the second idea\n"},
}

// TestFleets runs the same programs on both fleets, in machines that run real commands.
func TestFleets(t *testing.T) {
	for fleet, start := range fleets {
		t.Run(fleet, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			for name, want := range outputs {
				if diff := cmp.Diff(want, s.program(t, name, "-fleet", fleet)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// TestCloud runs the example of what only the cloud has.
func TestCloud(t *testing.T) {
	t.Parallel()
	got := fleets["cloud"](t, nil).program(t, "cloud")
	want := regexp.MustCompile(`^the account is active and owes \$0\.0000
found by its label: smol-[0-9a-f]{12}, which stops in 10m0s unless it is used, and is deleted 1h0m0s after its creation
(event: .+\n)*event: machine started
(event: .+\n)*it is deleted; it was up for 0s and cost \$0\.000\d
$`)
	if got.Code != 0 || got.Stderr != "" || !want.MatchString(got.Stdout) {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestFleetMistakes asks for a fleet that there is not, and for one that it has no key for, which is said with what to do about it.
func TestFleetMistakes(t *testing.T) {
	t.Parallel()
	s := fleets["local"](t, scripted)
	for fleet, want := range map[string][]string{
		"moon":  {`hello: -fleet "moon": there are local and cloud`},
		"cloud": {"hello: smol:", "hello: hint: ", "SMOL_CLOUD_TOKEN"},
	} {
		got := s.program(t, "hello", "-fleet", fleet)
		for _, w := range want {
			if got.Code != 1 || got.Stdout != "" || !strings.Contains(got.Stderr, w) {
				t.Errorf("%s: exit code %d, %q, %q; want %q", fleet, got.Code, got.Stdout, got.Stderr, w)
			}
		}
	}
}

// TestEveryExampleIsRun looks for one that is run by no test here.
func TestEveryExampleIsRun(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]bool{"walkthrough": true, "cloud": true}
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, path := range mains {
		name := filepath.Dir(path)
		if _, ok := outputs[name]; !ok && !elsewhere[name] {
			t.Errorf("%s is run by no test", path)
		}
	}
}
