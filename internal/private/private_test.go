package private_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/smol-machines/smol-go/internal/private"
)

// TestRuntimeDir ignores a base that is not absolute.
func TestRuntimeDir(t *testing.T) {
	temp := t.TempDir()
	for base, want := range map[string]string{
		"": filepath.Join(temp, "smol-mcp-7"), "run": filepath.Join(temp, "smol-mcp-7"), "./run": filepath.Join(temp, "smol-mcp-7"),
		filepath.Join(temp, "run"): filepath.Join(temp, "run", "smol-mcp"),
	} {
		if got := private.RuntimeDir(base, temp, 7); got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
}

// TestReplace replaces a file twice, and what cannot be replaced, beside which nothing is left.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	for _, text := range []string{"first", "second"} {
		if err := private.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "record"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := private.Replace(filepath.Join(dir, "record"), []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if names, err := os.ReadDir(dir); len(names) != 1 || err != nil {
		t.Errorf("left: %v, %v", names, err)
	}
}
