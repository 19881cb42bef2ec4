package smoltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing/iotest"

	"github.com/smol-machines/smol-go/smol"
)

var fileRows = []row{
	{"files/round trip", testFiles},
	{"files/on the wire", testWireFiles},
	{"files/missing", testFilesMissing},
	{"files/replaced, mode kept", testReplace},
	{"files/a failed write leaves the old one", testFailedWrite},
	{"files/parts", testRanges},
	{"files/hostile paths", testHostilePaths},
	{"files/directories", testDirectories},
}

// contents are files that are easily damaged.
func contents() map[string][]byte {
	return map[string][]byte{
		"empty": {}, "a byte": {0}, "hard": hardBytes(), "64 KiB and 1": bytes.Repeat([]byte("x"), 64<<10+1), "long": seq(200_000),
	}
}

func testFiles(r *rowTest) {
	m := r.machine()
	for _, dir := range []string{"/workspace/new/", "/root/suite/"} {
		for name, data := range contents() {
			r.write(m, dir+name, data)
			r.wantFile(m, dir+name, data)
			info, err := m.Stat(r.ctx, dir+name)
			if err != nil || info.Size() != int64(len(data)) || info.Mode() != 0o644 {
				r.Errorf("stat of %s%s: %+v, %v", dir, name, info, err)
			}
		}
	}
	// A reader whose size cannot be known.
	if err := m.Put(r.ctx, "/workspace/stream", io.MultiReader(bytes.NewReader(seq(10_000))), nil); err != nil {
		r.Fatalf("put: %v", err)
	}
	r.wantFile(m, "/workspace/stream", seq(10_000))
}

// testWireFiles is about the fleet's own way for files.
func testWireFiles(r *rowTest) {
	r.need(smol.CapabilityFiles)
	files, _ := as[smol.FileBackend](r.backend)
	m := r.machine()
	for name, data := range contents() {
		for _, size := range []int64{int64(len(data)), -1} {
			path := "/workspace/wire/" + name
			if err := files.Upload(r.ctx, m.ID(), path, bytes.NewReader(data), size); err != nil {
				r.Fatalf("upload of %s: %v", name, err)
			}
			body, told, err := files.Download(r.ctx, m.ID(), path)
			if err != nil {
				r.Fatalf("download of %s: %v", name, err)
			}
			got, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil {
				r.Errorf("download of %s: %v", name, err)
			}
			r.same("download of "+name, got, data)
			if told >= 0 && told != int64(len(data)) {
				r.Errorf("download of %s: the size is told as %d, and it is %d", name, told, len(data))
			}
		}
	}
	// A shorter one replaces a longer one.
	for _, text := range []string{"longer", "short"} {
		if err := files.Upload(r.ctx, m.ID(), "/workspace/f", bytes.NewReader([]byte(text)), int64(len(text))); err != nil {
			r.Fatalf("upload: %v", err)
		}
		r.wantFile(m, "/workspace/f", []byte(text))
	}
}

func testFilesMissing(r *rowTest) {
	m := r.machine()
	for _, path := range []string{"/workspace/none", "/none/none"} {
		_, err := m.ReadFile(r.ctx, path)
		r.wantNoFile("read file", err)
		_, err = m.Stat(r.ctx, path)
		r.wantNoFile("stat", err)
		_, err = m.ReadDir(r.ctx, path)
		r.wantNoFile("read directory", err)
		r.wantNoFile("remove", m.Remove(r.ctx, path, nil))
		if files, ok := as[smol.FileBackend](r.backend); ok {
			body, _, err := files.Download(r.ctx, m.ID(), path)
			if err == nil {
				_ = body.Close()
			}
			if !errors.Is(err, errors.ErrUnsupported) {
				r.wantNoFile("download", err)
			}
		}
	}
}

func testReplace(r *rowTest) {
	m := r.machine()
	const path = "/workspace/f"
	if err := m.WriteFile(r.ctx, path, []byte("a longer text"), &smol.WriteOptions{Mode: 0o750}); err != nil {
		r.Fatalf("write: %v", err)
	}
	r.write(m, path, []byte("short"))
	r.wantFile(m, path, []byte("short"))
	if info, err := m.Stat(r.ctx, path); err != nil || info.Mode() != 0o750 {
		r.Errorf("after a write without a mode: %+v, %v", info, err)
	}
	if err := m.WriteFile(r.ctx, path, nil, &smol.WriteOptions{Mode: 0o600}); err != nil {
		r.Fatalf("write: %v", err)
	}
	if info, err := m.Stat(r.ctx, path); err != nil || info.Mode() != 0o600 || info.Size() != 0 {
		r.Errorf("after a write with a mode: %+v, %v", info, err)
	}
}

// testFailedWrite: readers that fail, end too early or are cancelled change nothing and leave nothing behind.
func testFailedWrite(r *rowTest) {
	m := r.machine()
	const path = "/workspace/f"
	r.write(m, path, []byte("old"))
	broken := errors.New("the reader is broken")
	failing := io.MultiReader(bytes.NewReader(seq(1000)), iotest.ErrReader(broken))
	if err := m.Put(r.ctx, path, failing, nil); !errors.Is(err, broken) {
		r.Errorf("a reader that fails: %v", err)
	}
	if err := m.Put(r.ctx, path, bytes.NewReader([]byte("new")), &smol.WriteOptions{Size: 4}); err == nil {
		r.Errorf("a reader that ends too early is no error")
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	stopping := io.MultiReader(bytes.NewReader(seq(1000)), readerFunc(func([]byte) (int, error) {
		cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	}))
	r.want("a write that is cancelled", m.Put(ctx, path, stopping, nil), context.Canceled)
	r.wantFile(m, path, []byte("old"))
	if entries, err := m.ReadDir(r.ctx, "/workspace/.smol/.files"); err == nil && len(entries) > 0 {
		r.Errorf("%d files are left behind", len(entries))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Errorf("what is left behind: %v", err)
	}
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func testRanges(r *rowTest) {
	m := r.machine()
	data := seq(100_000)
	r.write(m, "/workspace/f", data)
	size := int64(len(data))
	for _, p := range []struct{ offset, length, from, to int64 }{
		{0, 0, 0, size},
		{0, 1, 0, 1},
		{7, 300_000, 7, 300_007},
		{size - 3, 0, size - 3, size},
		{size - 3, 100, size - 3, size},
		{size + 5, 10, size, size},
	} {
		f, err := m.Open(r.ctx, "/workspace/f", &smol.OpenOptions{Offset: p.offset, Length: p.length})
		if err != nil {
			r.Fatalf("open from %d: %v", p.offset, err)
		}
		got, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			r.Errorf("read from %d: %v", p.offset, err)
		}
		r.same("part", got, data[p.from:p.to])
	}
}

func testHostilePaths(r *rowTest) {
	m := r.machine()
	for _, path := range []string{"", "relative", "../etc/passwd", "/a\x00b", "/\xff"} {
		_, read := m.ReadFile(r.ctx, path)
		_, stat := m.Stat(r.ctx, path)
		for what, err := range map[string]error{
			"read": read, "stat": stat, "write": m.WriteFile(r.ctx, path, nil, nil), "make directory": m.MkdirAll(r.ctx, path, nil),
			"remove": m.Remove(r.ctx, path, &smol.RemoveOptions{Recursive: true}),
		} {
			r.want(what+" "+path, err, smol.ErrInvalid)
		}
	}
	r.want("write to a directory", m.WriteFile(r.ctx, "/workspace", nil, nil), smol.ErrInvalid)
	_, err := m.ReadFile(r.ctx, "/workspace")
	r.want("read a directory", err, smol.ErrInvalid)
	r.want("remove /", m.Remove(r.ctx, "/", &smol.RemoveOptions{Recursive: true}), smol.ErrInvalid)
	for _, name := range []string{"a b", "it's $HOME", "ü", "?x=1#y", "%2e%2e", "-rf", "new\nline"} {
		r.write(m, "/workspace/d/"+name, []byte(name))
		r.wantFile(m, "/workspace/d/"+name, []byte(name))
	}
}

func testDirectories(r *rowTest) {
	m := r.machine()
	if err := m.MkdirAll(r.ctx, "/workspace/d/e", &smol.MkdirOptions{Mode: 0o700}); err != nil {
		r.Fatalf("make: %v", err)
	}
	if err := m.MkdirAll(r.ctx, "/workspace/d", nil); err != nil {
		r.Errorf("make what is there: %v", err)
	}
	r.write(m, "/workspace/d/b", []byte("12"))
	r.write(m, "/workspace/d/a", nil)
	entries, err := m.ReadDir(r.ctx, "/workspace/d")
	if err != nil || len(entries) != 3 || entries[0].Name() != "a" || entries[1].Size() != 2 || !entries[2].IsDir() {
		r.Errorf("entries: %v, %v", entries, err)
	}
	r.want("remove a directory with entries", m.Remove(r.ctx, "/workspace/d", nil), smol.ErrConflict)
	if err := m.Remove(r.ctx, "/workspace/d", &smol.RemoveOptions{Recursive: true}); err != nil {
		r.Errorf("remove all: %v", err)
	}
	_, err = m.Stat(r.ctx, "/workspace/d")
	r.wantNoFile("what was removed", err)
}
