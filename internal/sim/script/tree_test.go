package script_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// newTree is a tree with a file outside of it, next door.
func newTree(t *testing.T, mounts ...sim.Mount) (tree *script.Tree, dir string) {
	t.Helper()
	host := t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "secret"), []byte("host"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(host, "root")
	tree, err := script.OpenTree(dir, mounts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Errorf("close the tree: %v", err)
		}
	})
	return tree, dir
}

func write(t *testing.T, tree *script.Tree, name, data string) {
	t.Helper()
	if _, err := tree.Replace(name, strings.NewReader(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, tree *script.Tree, says, name string) {
	t.Helper()
	if err := tree.Symlink(says, name); err != nil {
		t.Fatal(err)
	}
}

func TestTreeNames(t *testing.T) {
	tree, _ := newTree(t)
	write(t, tree, "/a/b/file", "x")
	if runtime.GOOS != "windows" { // making links needs a right there
		symlink(t, tree, "/a", "/abs")
		symlink(t, tree, "b", "/a/rel")
		symlink(t, tree, "../../../../../../secret", "/up")
		symlink(t, tree, "/../../secret", "/a/up")
		symlink(t, tree, "loop2", "/loop1")
		symlink(t, tree, "loop1", "/loop2")
	}
	rows := []struct {
		name string
		want error // nil: it is the file
		unix bool
	}{
		{"/a/b/file", nil, false},
		{"//a/./b//file", nil, false},
		{"/a/b/../b/file", nil, false},
		{"/../a/b/file", nil, false},
		{"/abs/b/file", nil, true},
		{"/a/rel/file", nil, true},
		{"/abs/rel/../b/file", nil, true},
		{"/abs/rel/file", nil, true},
		{"/nope", fs.ErrNotExist, false},
		{"/nope/../a/b/file", fs.ErrNotExist, false},
		{"/../secret", fs.ErrNotExist, false},
		{"/up", fs.ErrNotExist, true},
		{"/a/up", fs.ErrNotExist, true},
		{"a/b/file", fs.ErrInvalid, false},
		{"", fs.ErrInvalid, false},
		{"/a/b/file\x00", fs.ErrInvalid, false},
	}
	for _, r := range rows {
		if r.unix && runtime.GOOS == "windows" {
			continue
		}
		got, err := tree.ReadFile(r.name)
		if !errors.Is(err, r.want) || err == nil && string(got) != "x" {
			t.Errorf("ReadFile(%q) = %q, %v; want %v", r.name, got, err, r.want)
		}
		var pe *fs.PathError
		if err != nil && (!errors.As(err, &pe) || pe.Path != r.name) {
			t.Errorf("ReadFile(%q): the error names another path: %v", r.name, err)
		}
	}
	if runtime.GOOS != "windows" {
		if _, err := tree.Stat("/loop1/x"); err == nil || !strings.Contains(err.Error(), "too many levels") {
			t.Errorf("a loop of links: %v", err)
		}
	}
}

// TestTreeStaysInside writes where links and names lead upwards, and finds nothing new beside the root.
func TestTreeStaysInside(t *testing.T) {
	tree, dir := newTree(t)
	if runtime.GOOS != "windows" {
		symlink(t, tree, "../../..", "/up")
		symlink(t, tree, "/../..", "/absup")
	}
	for _, name := range []string{"/../evil", "/../../evil", "/up/evil", "/absup/evil", "/x/../../evil"} {
		_ = tree.MkdirAll("/x", 0o755)
		if err := tree.WriteFile(name, []byte("x"), 0o600); err != nil && runtime.GOOS != "windows" {
			t.Errorf("WriteFile(%q): %v", name, err)
		}
		if _, err := tree.Replace(name, strings.NewReader("x"), 0o600); err != nil && runtime.GOOS != "windows" {
			t.Errorf("Replace(%q): %v", name, err)
		}
	}
	if _, err := tree.Stat("/evil"); err != nil {
		t.Errorf("what leads above the root does not end at it: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"root", "secret"}, names); diff != "" {
		t.Errorf("beside the root (-want +got):\n%s", diff)
	}
	if got, _ := os.ReadFile(filepath.Join(filepath.Dir(dir), "secret")); string(got) != "host" {
		t.Errorf("the file outside was written: %q", got)
	}
}

func TestTreeReplace(t *testing.T) {
	tree, dir := newTree(t)
	write(t, tree, "/d/f", "old")
	if _, err := tree.Replace("/d", strings.NewReader("x"), 0o644); err == nil {
		t.Error("a directory was replaced by a file")
	}
	broken := errors.New("broken")
	if _, err := tree.Replace("/d/f", &failing{"new", broken}, 0o644); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if got, _ := tree.ReadFile("/d/f"); string(got) != "old" {
		t.Errorf("after a failed replace the file is %q", got)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "d"))
	if len(entries) != 1 {
		t.Errorf("a failed replace left something: %v", entries)
	}
	n, err := tree.Replace("/d/f", strings.NewReader("new!"), 0o600)
	if got, _ := tree.ReadFile("/d/f"); n != 4 || err != nil || string(got) != "new!" {
		t.Errorf("replace: %d, %v, %q", n, err, got)
	}
	if fi, _ := tree.Stat("/d/f"); fi.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", fi.Mode())
	}
}

// failing is a reader that breaks after some text.
type failing struct {
	text string
	err  error
}

func (f *failing) Read(b []byte) (int, error) {
	if f.text == "" {
		return 0, f.err
	}
	n := copy(b, f.text)
	f.text = f.text[n:]
	return n, nil
}

func TestTreeMounts(t *testing.T) {
	rw, ro := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(ro, "r"), []byte("read me"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, _ := newTree(t, sim.Mount{Source: rw, Target: "/data"}, sim.Mount{Source: ro, Target: "/data/ro", ReadOnly: true})
	write(t, tree, "/data/sub/f", "through")
	if got, _ := os.ReadFile(filepath.Join(rw, "sub", "f")); string(got) != "through" {
		t.Errorf("the host sees %q", got)
	}
	if got, err := tree.ReadFile("/data/ro/r"); string(got) != "read me" {
		t.Errorf("the inner mount: %q, %v", got, err)
	}
	changes := map[string]func() error{
		"write":  func() error { return tree.WriteFile("/data/ro/x", nil, 0o644) },
		"mkdir":  func() error { return tree.Mkdir("/data/ro/d", 0o755) },
		"remove": func() error { return tree.Remove("/data/ro/r") },
		"rename": func() error { return tree.Rename("/data/ro/r", "/data/ro/q") },
		"move":   func() error { return tree.Rename("/data/ro/r", "/r") },
		"chmod":  func() error { return tree.Chmod("/data/ro/r", 0o600) },
	}
	for what, change := range changes {
		if err := change(); !errors.Is(err, script.ErrReadOnly) {
			t.Errorf("%s on a read-only mount: %v", what, err)
		}
	}
	if err := tree.Rename("/data/sub/f", "/f"); err == nil || !strings.Contains(err.Error(), "cross-device") {
		t.Errorf("a rename across a mount: %v", err)
	}
	if err := tree.Link("/data/sub/f", "/f"); err == nil || !strings.Contains(err.Error(), "cross-device") {
		t.Errorf("a link across a mount: %v", err)
	}
	if err := os.RemoveAll(rw); err != nil {
		t.Errorf("the host cannot delete what is mounted: %v", err)
	}
}

func TestOpenTreeRefuses(t *testing.T) {
	rows := map[string]sim.Mount{
		"a mount on the root":   {Source: t.TempDir(), Target: "/"},
		"a source that is gone": {Source: filepath.Join(t.TempDir(), "gone"), Target: "/x"},
	}
	for what, m := range rows {
		if tree, err := script.OpenTree(t.TempDir(), []sim.Mount{m}); err == nil {
			tree.Close()
			t.Errorf("%s was accepted", what)
		}
	}
}

func TestTreeFS(t *testing.T) {
	tree, _ := newTree(t)
	write(t, tree, "/etc/hostname", "m\n")
	write(t, tree, "/workspace/src/main.go", "package main\n")
	if err := fstest.TestFS(tree.FS(), "etc/hostname", "workspace/src/main.go"); err != nil {
		t.Error(err)
	}
}

func FuzzTreeStaysInside(f *testing.F) {
	for _, name := range []string{"/a", "/../a", "//", "/a/../../b", "/l/../x", "/l/l/l", `/a\..\..\b`, "/\x00", "/c:/x", "/NUL"} {
		f.Add(name, "../..")
	}
	f.Fuzz(func(t *testing.T, name, link string) {
		tree, dir := newTree(t)
		_ = tree.Symlink(link, "/l") // an empty one is refused
		_ = tree.WriteFile(name, []byte("x"), 0o600)
		_ = tree.MkdirAll(name+"/d", 0o700)
		entries, err := os.ReadDir(filepath.Dir(dir))
		if err != nil || len(entries) != 2 {
			t.Fatalf("beside the root: %v, %v", entries, err)
		}
	})
}
