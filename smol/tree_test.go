package smol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
)

// treeOf returns a tree of files from names and contents in turn.
func treeOf(namesAndContents ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for i := 0; i < len(namesAndContents); i += 2 {
		tree[namesAndContents[i]] = &fstest.MapFile{Data: []byte(namesAndContents[i+1])}
	}
	return tree
}

// treeFile is what a copy of a file must keep.
type treeFile struct {
	Mode    fs.FileMode
	Content string // or where a link leads
	ModTime time.Time
}

// treeFiles reads a tree.
func treeFiles(t *testing.T, fsys fs.FS) map[string]treeFile {
	t.Helper()
	files := map[string]treeFile{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := treeFile{Mode: info.Mode()}
		switch {
		case info.Mode().IsRegular():
			b, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			f.Content, f.ModTime = string(b), info.ModTime().Truncate(time.Second).UTC()
		case info.Mode().Type() == fs.ModeSymlink:
			if f.Content, err = fs.ReadLink(fsys, name); err != nil {
				return err
			}
		}
		files[name] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// hostTree makes a directory with everything that a tree can have.
func hostTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	long := strings.Repeat("long-", 40)
	for _, f := range []struct {
		name, content string
		mode          fs.FileMode
	}{
		{"empty", "", 0o600},
		{"run.sh", "#!/bin/sh\nexit 3\n", 0o755},
		{"-rf", "x", 0o644},
		{"a b/new\nline", "odd", 0o644},
		{"a b/ü/'q'", "more odd", 0o4711},
		{long + "/" + long, "deep", 0o640},
		{"large", strings.Repeat("large", 1<<19), 0o644},
		{".hidden", "h", 0o444},
		{"read-only/inside/f", "in a directory that cannot be written", 0o444},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.content), 0o600); err != nil {
			t.Fatal(err)
		}
		mode := f.mode.Perm()
		if f.mode&0o4000 != 0 {
			mode |= fs.ModeSetuid
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		when := time.Date(2001, 2, 3, 4, 5, len(f.name)%60, 0, time.UTC)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"link": "run.sh", "a b/up": "../empty", "a b/ü/dir": "../../read-only", "dangling": "no/such/" + long,
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "none/at/all"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read-only/inside", "read-only"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { makeWritable(dir) })
	return dir
}

// makeWritable lets a temporary directory be removed.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // the removal will say what is wrong
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return err
	})
}

// openRoot returns an empty directory to copy to.
func openRoot(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		root.Close()
		makeWritable(dir)
	})
	return root
}

func TestTreeRoundTrip(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		dir := hostTree(t)
		want := treeFiles(t, os.DirFS(dir))
		to := "/root/to" + oddPath
		for range 2 { // over nothing, and over itself
			var err error
			m.base(t)
			n := m.count(func() { err = m.CopyFS(t.Context(), to, os.DirFS(dir), nil) })
			if err != nil {
				t.Fatal(err)
			}
			if n != (trips{1, 1, 0}) {
				t.Errorf("in: %+v", n)
			}
		}
		if code := m.sh(`"$1/run.sh"; echo $?`, to); code != "3\n" {
			t.Errorf("the program is not one: %s", code)
		}
		if got := m.sh(`cd "$1"; stat -c '%a %u' read-only read-only/inside; stat -c %a "a b/ü/'q'"`, to); got != "555 0\n555 0\n4711\n" {
			t.Errorf("modes and owners in the machine: %q", got)
		}
		root := openRoot(t)
		for i := range 2 {
			if i > 0 && os.Geteuid() != 0 {
				break // only root can write again into a directory that is read-only
			}
			var err error
			n := m.count(func() { err = m.CopyOut(t.Context(), to, root, nil) })
			if err != nil {
				t.Fatal(err)
			}
			if n != (trips{2, 0, 1}) {
				t.Errorf("out: %+v", n)
			}
		}
		for name, f := range want {
			f.Mode &^= fs.ModeSetuid
			want[name] = f
		}
		if diff := cmp.Diff(want, treeFiles(t, root.FS())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		m.wantNoStage()
	})
}

// base makes sure that the handle knows where to stage, for counts that do not depend on it.
func (m *fileMachine) base(t *testing.T) {
	t.Helper()
	if err := m.WriteFile(t.Context(), "/tmp/base", nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyTree(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		if err := m.CopyFS(t.Context(), "/root/empty", fstest.MapFS{}, nil); err != nil {
			t.Fatal(err)
		}
		if info, err := m.Stat(t.Context(), "/root/empty"); err != nil || info.Mode() != fs.ModeDir|0o755 {
			t.Errorf("%v, %v", info, err)
		}
		root := openRoot(t)
		if err := m.CopyOut(t.Context(), "/root/empty", root, nil); err != nil {
			t.Fatal(err)
		}
		if got := treeFiles(t, root.FS()); len(got) > 0 {
			t.Errorf("got %v", got)
		}
	})
}

// File systems such as embed.FS tell no permissions that anybody wants, or no times.
func TestCopyFSWithoutModes(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	tree := treeOf("a/f", "x")
	tree["a/run"] = &fstest.MapFile{Data: []byte("y"), Mode: 0o711, ModTime: time.Unix(981173106, 0)}
	if err := m.CopyFS(t.Context(), "/root/t", tree, nil); err != nil {
		t.Fatal(err)
	}
	if got := m.sh(`cd /root/t; stat -c %a a/f a/run; stat -c %Y a/run; [ $(stat -c %Y a/f) -gt 1700000000 ] && echo now`); got != "644\n711\n981173106\nnow\n" {
		t.Errorf("got %q", got)
	}
}

func TestManySmallFiles(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	tree := fstest.MapFS{}
	files := min(rounds.N(1000), 10_000)
	for i := range files {
		tree[fmt.Sprintf("d%d/f%d", i%100, i)] = &fstest.MapFile{Data: fmt.Append(nil, i), Mode: 0o644}
	}
	if err := m.CopyFS(t.Context(), "/workspace/many", tree, nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(m.sh("find /workspace/many -type f | wc -l")); got != fmt.Sprint(files) {
		t.Errorf("%s files in the machine", got)
	}
	root := openRoot(t)
	// The stage lies in what is copied.
	if err := m.CopyOut(t.Context(), "/workspace", root, nil); err != nil {
		t.Fatal(err)
	}
	got := treeFiles(t, root.FS())
	if len(got) != files+100+1 || got["many/d42/f42"].Content != "42" {
		t.Errorf("%d files, %+v", len(got), got["many/d42/f42"])
	}
}

// What is there already stays, and what is in the way is not replaced.
func TestCopyFSOverOthers(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		m.sh(`mkdir -p /root/t/d; cd /root/t; echo keep >keep; echo old >f; chmod 600 f; : >d/inside`)
		if err := m.CopyFS(t.Context(), "/root/t", treeOf("f", "new", "d/more", "x"), nil); err != nil {
			t.Fatal(err)
		}
		m.wantContent("/root/t/keep", "keep\n")
		m.wantContent("/root/t/f", "new")
		m.wantContent("/root/t/d/inside", "")
		m.sh(": >/root/file")
		for path, want := range map[string]error{"/root/file": smol.ErrInvalid, "/root/file/x": smol.ErrInvalid} {
			if err := m.CopyFS(t.Context(), path, treeOf("f", "x"), nil); !errors.Is(err, want) {
				t.Errorf("%s: %v", path, err)
			}
		}
		m.wantNoStage()
	})
}

// oddFS has an error or a file of some kind in its midst.
type oddFS struct {
	fstest.MapFS
	fail string
}

func (o oddFS) Open(name string) (fs.File, error) {
	if name == o.fail {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errReader}
	}
	return o.MapFS.Open(name)
}

// noLinks hides ReadLink.
type noLinks struct{ fs.FS }

// A tree that cannot be read as a whole changes nothing in the machine.
func TestCopyFSFails(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	m.sh("mkdir /root/t")
	with := func(name string, mode fs.FileMode) fstest.MapFS {
		tree := treeOf("a", strings.Repeat("x", 1<<20), "z", "z")
		tree[name] = &fstest.MapFile{Mode: mode, Data: []byte("target")}
		return tree
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		tree fs.FS
		want error
		text string
	}{
		{"open", t.Context(), oddFS{with("m", 0), "m"}, errReader, "open m"},
		{"pipe", t.Context(), with("m", fs.ModeNamedPipe), nil, "copy m: cannot copy"},
		{"device", t.Context(), with("m", fs.ModeDevice), nil, "SkipSpecial"},
		{"link that cannot be read", t.Context(), noLinks{with("m", fs.ModeSymlink|0o777)}, nil, "readlink m"},
		{"a file for a tree", t.Context(), os.DirFS(filepath.Join(hostTree(t), "run.sh")), nil, "not a directory"},
		{"missing", t.Context(), os.DirFS("/no/such"), fs.ErrNotExist, ""},
		{"shrinks", t.Context(), shrinking{}, io.ErrUnexpectedEOF, "f: the file became shorter"},
		{"cancelled", cancelled, with("m", 0), context.Canceled, ""},
	}
	for _, tt := range tests {
		err := m.CopyFS(tt.ctx, "/root/t", tt.tree, nil)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if got := m.sh("ls -A /root/t"); got != "" {
		t.Errorf("copied nevertheless: %q", got)
	}
	skip := &smol.CopyOptions{SkipSpecial: true}
	for _, mode := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeDevice, fs.ModeSymlink | 0o777} {
		if err := m.CopyFS(t.Context(), "/root/t", noLinks{with("m", mode)}, skip); err != nil {
			t.Errorf("%v: %v", mode, err)
		}
	}
	if got := m.sh("cd /root/t; echo *"); got != "a z\n" {
		t.Errorf("copied: %q", got)
	}
	m.wantNoStage()
}

// panicking is a tree that cannot be opened.
type panicking func()

func (p panicking) Open(string) (fs.File, error) {
	p()
	return nil, fs.ErrNotExist
}

// A file system's panic reaches the caller of CopyFS, and one that ends its goroutine does not hang it.
func TestCopyFSOfBadTrees(t *testing.T) {
	_, m := newFakeMachineOfFiles()
	func() {
		defer func() {
			if p := recover(); p != "tree" {
				t.Errorf("panic of %v", p)
			}
		}()
		_ = m.CopyFS(t.Context(), "/t", panicking(func() { panic("tree") }), nil)
	}()
	if err := m.CopyFS(t.Context(), "/t", panicking(runtime.Goexit), nil); err == nil {
		t.Error("a tree that ended its goroutine was taken for empty")
	}
}

// shrinking has a file that has less than it says.
type shrinking struct{}

func (shrinking) Open(name string) (fs.File, error) {
	f, err := treeOf("f", "short").Open(name)
	if name != "f" || err != nil {
		return f, err
	}
	return longer{f}, nil
}

type longer struct{ fs.File }

func (l longer) Stat() (fs.FileInfo, error) {
	info, err := l.File.Stat()
	return longerInfo{info}, err
}

type longerInfo struct{ fs.FileInfo }

func (l longerInfo) Size() int64 { return l.FileInfo.Size() + 1 }

// A CopyFS whose file system blocks can be cancelled.
func TestCopyFSCancelled(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	m.base(t)
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	tree := blocking{treeOf("a", "x", "b", "y"), func() { cancel(); <-release }}
	if err := m.CopyFS(ctx, "/root/t", tree, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := m.Stat(t.Context(), "/root/t"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
	m.wantNoStage()
}

type blocking struct {
	fstest.MapFS
	block func()
}

func (b blocking) Open(name string) (fs.File, error) {
	if name == "b" {
		b.block()
	}
	return b.MapFS.Open(name)
}

func TestTreeWithoutTar(t *testing.T) {
	m := newHostile(nil, &guest.FileReply{Status: guest.FileNoTool, Fields: []string{"tar"}})
	root := openRoot(t)
	for name, err := range map[string]error{
		"in": m.CopyFS(t.Context(), "/root/t", treeOf("f", "x"), nil), "out": m.CopyOut(t.Context(), "/root", root, nil),
	} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "no program tar") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
