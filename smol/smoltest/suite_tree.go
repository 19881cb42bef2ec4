package smoltest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/smol-machines/smol-go/smol"
)

var treeRows = []row{
	{"trees/round trip", testTree},
	{"trees/a failed copy changes nothing", testFailedTree},
}

func testTree(r *rowTest) {
	m := r.machine()
	tree := fstest.MapFS{
		"a.txt":      {Data: []byte("a\r\n"), Mode: 0o644},
		"bin/run":    {Data: hardBytes(), Mode: 0o755},
		"d/e/f/long": {Data: seq(50_000), Mode: 0o600},
		"d/empty":    {Mode: 0o644},
		"ü and $x":   {Data: []byte("name"), Mode: 0o644},
	}
	if err := m.CopyFS(r.ctx, "/workspace/tree", tree, nil); err != nil {
		r.Fatalf("copy in: %v", err)
	}
	for name, f := range tree {
		r.wantFile(m, "/workspace/tree/"+name, f.Data)
		if info, err := m.Stat(r.ctx, "/workspace/tree/"+name); err != nil || info.Mode() != f.Mode {
			r.Errorf("%s: %+v, %v, want mode %v", name, info, err, f.Mode)
		}
	}
	dir := r.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		r.Fatalf("directory: %v", err)
	}
	defer root.Close()
	r.Cleanup(func() { openUp(dir) })
	if err := m.CopyOut(r.ctx, "/workspace/tree", root, nil); err != nil {
		r.Fatalf("copy out: %v", err)
	}
	for name, f := range tree {
		got, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			r.Errorf("copied out: %v", err)
		}
		r.same(name, got, f.Data)
	}
	r.wantNoFile("copy out of what is not there", m.CopyOut(r.ctx, "/workspace/none", root, nil))
}

// openUp lets the directories below dir, some of which are read-only, be removed by an ordinary user.
func openUp(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
}

// brokenFS fails at one of its files.
type brokenFS struct {
	fs.FS
	err error
}

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == "z" {
		return nil, b.err
	}
	return b.FS.Open(name)
}

func testFailedTree(r *rowTest) {
	m := r.machine()
	r.write(m, "/workspace/tree/a", []byte("old"))
	broken := errors.New("the file is broken")
	tree := brokenFS{fstest.MapFS{"a": {Data: []byte("new")}, "z": {Data: []byte("z")}}, broken}
	if err := m.CopyFS(r.ctx, "/workspace/tree", tree, nil); !errors.Is(err, broken) {
		r.Errorf("copy of a tree that cannot be read: %v", err)
	}
	r.wantFile(m, "/workspace/tree/a", []byte("old"))
	r.want("copy to a file", m.CopyFS(r.ctx, "/workspace/tree/a", fstest.MapFS{"b": {}}, nil), smol.ErrInvalid)
}
