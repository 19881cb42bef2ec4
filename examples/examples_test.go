package examples_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// programs is the directory of the examples' binaries.
var programs string

// TestMain builds all examples once, as a user would: it is what they do that is tested here, and the race detector watches the stand-ins.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "examples"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(programs)
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", programs+string(filepath.Separator), "./...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // which make check has compiled most of it with already
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// standIn is a stand-in of either service, with how programs are told of it.
type standIn struct {
	fleet *smol.Fleet
	env   []string
	count func(method, pattern string) int
	// machines is the path at which machines are made.
	machines string
}

// fleets are the stand-ins by the name that -fleet has for them. The guest is [smoltest.Sandbox] if it is nil.
var fleets = map[string]func(t *testing.T, g smoltest.Guest) *standIn{
	"local": func(t *testing.T, g smoltest.Guest) *standIn {
		l := smoltest.NewLocal(t, &smoltest.Options{Guest: g})
		return &standIn{l.Service(t).Fleet, []string{"SMOL_LOCAL_URL=" + l.URL()}, l.Count, "/api/v1/machines"}
	},
	"cloud": func(t *testing.T, g smoltest.Guest) *standIn {
		c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: g})
		return &standIn{c.Service(t).Fleet, []string{"SMOL_CLOUD_URL=" + c.URL(), "SMOL_CLOUD_TOKEN=" + c.Token()}, c.Count, "/v1/machines"}
	},
}

// made counts the machines that were asked for.
func (s *standIn) made() int { return s.count("POST", s.machines) }

// result is how a program ended.
type result struct {
	Stdout, Stderr string
	Code           int
}

// program runs the example with that name against s, and checks that it left no machine behind.
func (s *standIn) program(t *testing.T, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	cmd := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), "SMOL_LOCAL_URL=", "SMOL_CLOUD_URL=", "SMOL_CLOUD_TOKEN=")
	cmd.Env = append(cmd.Env, s.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for info, err := range s.fleet.List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s left the machine %s behind", name, info.Name)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
