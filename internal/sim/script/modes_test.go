package script_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// modesOf walks a tree and returns the modes of what is below dir.
func modesOf(t *testing.T, tree *script.Tree, dir string) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := fs.WalkDir(tree.FS(), dir[1:], func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		all[name] = fi.Mode()
		if got, err := tree.Stat("/" + name); err != nil || got.Mode() != fi.Mode() {
			t.Errorf("stat of %s: %v, %v; in its directory it is %v", name, got, err, fi.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTreeModes moves, deletes and makes files whose modes were set, and opens the tree again.
func TestTreeModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	tree, err := script.OpenTree(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, tree, "/w/a/f", "x")
	write(t, tree, "/w/a/deep/f", "x")
	write(t, tree, "/w/b", "x")
	write(t, tree, "/w/bb", "x")
	steps := []error{ // what is made here has modes that no umask changes
		tree.Chmod("/w", 0o755), tree.Chmod("/w/a", 0o711), tree.Chmod("/w/a/f", 0o751),
		tree.Chmod("/w/a/deep", 0o700), tree.Chmod("/w/a/deep/f", 0o600|fs.ModeSetuid),
		tree.Chmod("/w/b", 0o755), tree.Remove("/w/b"), tree.WriteFile("/w/b", nil, 0o600),
		tree.Chmod("/w/bb", 0o640), tree.Link("/w/bb", "/w/hard"),
		tree.Rename("/w/a", "/w/c"), tree.Mkdir("/w/a", 0o700), tree.WriteFile("/w/a/f", nil, 0o600),
		tree.MkdirAll("/w/x/y", 0o700), tree.Chmod("/w/x/y", 0o500), tree.RemoveAll("/w/x"), tree.MkdirAll("/w/x/y", 0o700),
		tree.WriteFile("/w/c/f", []byte("what has a mode keeps it"), 0o600),
	}
	for n, err := range steps {
		if err != nil {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if err := tree.Chmod("/w/none", 0o600); err == nil {
		t.Error("the mode of a file that does not exist was set")
	}
	want := map[string]fs.FileMode{
		"w": fs.ModeDir | 0o755, "w/b": 0o600, "w/bb": 0o640, "w/hard": 0o640,
		"w/a": fs.ModeDir | 0o700, "w/a/f": 0o600, "w/x": fs.ModeDir | 0o700, "w/x/y": fs.ModeDir | 0o700,
		"w/c": fs.ModeDir | 0o711, "w/c/f": 0o751, "w/c/deep": fs.ModeDir | 0o700, "w/c/deep/f": fs.ModeSetuid | 0o600,
	}
	if diff := cmp.Diff(want, modesOf(t, tree, "/w")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	if tree, err = script.OpenTree(dir, nil); err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if diff := cmp.Diff(want, modesOf(t, tree, "/w")); diff != "" {
		t.Errorf("opened again (-want +got):\n%s", diff)
	}
}

// TestTreeHardNames makes files with names that Linux allows and other systems do not.
func TestTreeHardNames(t *testing.T) {
	tree, _ := newTree(t)
	names := []string{"a", "<b>|\\", "c:\"d\"", "new\nline", "star*?", "trailing dot.", "trailing space ", "ü..."}
	for _, name := range names {
		write(t, tree, "/d/"+name+"/f", name)
		if got, err := tree.ReadFile("/d/" + name + "/f"); string(got) != name {
			t.Errorf("%q holds %q, %v", name, got, err)
		}
		if fi, err := tree.Stat("/d/" + name); err != nil || fi.Name() != name {
			t.Errorf("stat of %q: %v, %v", name, fi, err)
		}
	}
	entries, err := tree.ReadDir("/d")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, e := range entries {
		listed = append(listed, e.Name())
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, listed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	modesOf(t, tree, "/d")
}

// TestCopyModes copies the disk of a machine that runs.
func TestCopyModes(t *testing.T) {
	g, host := script.New(nil), t.TempDir()
	src, dst := filepath.Join(host, "src"), filepath.Join(host, "dst")
	in := boot(t, g, &sim.Boot{Dir: src, Name: "m"})
	do(t, in, &guest.FileBase{Bases: bases})
	stage := guest.StageDir(guest.BaseWorkspace) + "/s"
	if _, err := in.WriteFile(stage, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	do(t, in, &guest.FileCommit{Path: "/d/f", Mode: 0o510, Pieces: []guest.FilePiece{{Path: stage, Size: 1}}})
	if err := in.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := g.Copy(t.Context(), dst, src); err != nil {
		t.Fatal(err)
	}
	if err := in.Thaw(); err != nil {
		t.Fatal(err)
	}
	r, fi, err := boot(t, g, &sim.Boot{Dir: dst, Name: "copy"}).ReadFile("/d/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if fi.Mode() != 0o510 {
		t.Errorf("mode %v in the copy, want 0510", fi.Mode())
	}
}
