// Walkthrough does a whole job in a borrowed machine: it puts a real Go module into it, runs the module's own tests there,
// reads the report back, counts the packages that passed, and gives the machine back. It exits 1 when a test fails.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/smol-machines/smol-go/examples/internal/fleet"
	"github.com/smol-machines/smol-go/smol"
)

func main() {
	module := flag.String("module", "github.com/google/go-cmp@v0.7.0", "the module to test, as `path@version`")
	dir := flag.String("dir", "", "a `directory` with a module to test instead")
	fleet.Main(func(ctx context.Context, f *smol.Fleet) error { return run(ctx, f, *module, *dir) })
}

func run(ctx context.Context, f *smol.Fleet, module, dir string) (err error) {
	begin := time.Now()
	say := func(format string, args ...any) {
		fmt.Printf("%6.2fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	if dir == "" {
		if dir, err = download(ctx, module); err != nil {
			return err
		}
		say("downloaded %s", module)
	} else if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return fmt.Errorf("-dir %s is no directory with a Go module: %w", dir, err)
	}

	m, err := f.Create(ctx, smol.Spec{
		Image:   "golang:1.26",
		Network: smol.Network{Open: true}, // an image from a registry is pulled from inside the machine
		Env:     map[string]string{"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"},
		Dir:     "/workspace/module",
	}, nil)
	if err != nil {
		return err
	}
	defer func() {
		if e := m.Discard(); e != nil {
			err = errors.Join(err, e)
			return
		}
		say("gave the machine back")
	}()
	say("borrowed the machine %s", m.Name())

	if err := m.CopyFS(ctx, "/workspace/module", os.DirFS(dir), nil); err != nil {
		return err
	}
	say("put the module into it; running its tests…")
	return test(ctx, m, say)
}

// test runs the module's tests and reads the report back.
func test(ctx context.Context, m *smol.Machine, say func(format string, args ...any)) error {
	cmd := m.Shell("go test ./... >/workspace/report.txt 2>&1")
	cmd.Timeout = 10 * time.Minute
	failed := cmd.Run(ctx)
	report, err := m.ReadFile(ctx, "/workspace/report.txt")
	if err != nil {
		return errors.Join(failed, err)
	}
	fmt.Printf("%s", report)
	say("ran its tests: %d packages ok", countOK(report))
	if failed != nil {
		return fmt.Errorf("go test: %w", failed)
	}
	if countOK(report) == 0 {
		return errors.New("go test: no package was tested")
	}
	return nil
}

// countOK counts the packages that the report of go test calls ok.
func countOK(report []byte) int {
	n := 0
	for line := range bytes.Lines(report) {
		if bytes.HasPrefix(line, []byte("ok  \t")) {
			n++
		}
	}
	return n
}

// download asks the go command for the module and returns the directory it lies in.
func download(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	out, err := cmd.Output()
	var reply struct{ Dir, Error string }
	if e := json.Unmarshal(out, &reply); e != nil {
		return "", errors.Join(err, e)
	}
	if reply.Error != "" {
		return "", errors.New(reply.Error)
	}
	return reply.Dir, err
}
