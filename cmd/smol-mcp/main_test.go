package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// programs builds the programs once, without the race detector, and returns the directory that has them. They are gone at the end of the
// tests.
var programs = sync.OnceValues(func() (string, error) {
	var err error
	if binDir, err = os.MkdirTemp("", "smol-mcp-test"); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", binDir+string(filepath.Separator), ".", "../smolsim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // which make check has compiled most of it with already
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binDir, nil
})

var binDir string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(binDir)
	os.Exit(code)
}

// program returns the path of a program: smol-mcp or smolsim.
func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runDir returns a runtime directory that does not exist yet. Its path is short, since a socket may lie in it, and those of the directories of
// tests are too long for one on some systems.
func runDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

// writeProgram writes a file that is executed afterwards. What another test forks meanwhile would hold it open for writing, and nobody can
// execute such a file.
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o700)
}
