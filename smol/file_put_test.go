package smol_test

import (
	"bytes"
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
	"testing/iotest"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
)

const oddPath = "/root/ o'dd\n$x*/-ü\""

// otherOwner is who files can be given to: a machine that an ordinary user has made has one user.
func otherOwner() (uid, gid int) {
	if os.Geteuid() == 0 {
		return 12, 34
	}
	return 0, 0
}

func TestPut(t *testing.T) {
	uid, gid := otherOwner()
	owner := fmt.Sprintf("%d:%d", uid, gid)
	onImages(t, func(t *testing.T, m *fileMachine) {
		tests := []struct {
			name, setUp, path string
			opts              *smol.WriteOptions
			at, mode          string
			err               error
		}{
			{"new", ``, "/root/new", nil, "", "644 0:0", nil},
			{"new with mode", ``, "/root/mode", &smol.WriteOptions{Mode: fs.ModeSetuid | 0o750}, "", "4750 0:0", nil},
			{"missing parents, odd names", ``, oddPath + "/x" + oddPath, nil, "", "644 0:0", nil},
			{"under /workspace", ``, "/workspace/a/b", nil, "", "644 0:0", nil},
			{"under /tmp", ``, "/tmp/a/b", nil, "", "644 0:0", nil},
			{"path not in its shortest form", ``, "//root/.//short/", nil, "/root/short", "644 0:0", nil},
			{"old keeps mode and owner", `echo old >/root/old; chmod 604 /root/old; chown ` + owner + ` /root/old`, "/root/old", nil, "", "604 " + owner, nil},
			{"old takes a mode", `echo old >/root/old2; chown ` + owner + ` /root/old2`, "/root/old2", &smol.WriteOptions{Mode: 0o600}, "", "600 " + owner, nil},
			{"link", `mkdir /root/d; echo old >/root/d/t; chmod 640 /root/d/t; ln -s d/t /root/link`, "/root/link", nil, "/root/d/t", "640 0:0", nil},
			{"link to nothing", `ln -s there /root/dangling`, "/root/dangling", nil, "/root/there", "644 0:0", nil},
			{"link to itself", `ln -s loop /root/loop`, "/root/loop", nil, "", "", smol.ErrInvalid},
			{"directory", `mkdir /root/dir`, "/root/dir", nil, "", "", smol.ErrInvalid},
			{"root", ``, "/", nil, "", "", smol.ErrInvalid},
			{"below a file", `echo x >/root/file`, "/root/file/x", nil, "", "", smol.ErrInvalid},
			{"pipe", `mkfifo /root/pipe`, "/root/pipe", nil, "", "", smol.ErrInvalid},
			{"device", ``, "/dev/null", nil, "", "", smol.ErrInvalid},
		}
		var setUp strings.Builder
		for _, tt := range tests {
			setUp.WriteString(tt.setUp + "\n")
		}
		m.sh(setUp.String())
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				err := m.WriteFile(t.Context(), tt.path, []byte("new\x00\xff"), tt.opts)
				if !errors.Is(err, tt.err) {
					t.Fatalf("got %v, want %v", err, tt.err)
				}
				if tt.err != nil {
					var e *smol.Error
					if !errors.As(err, &e) || e.Path != tt.path || e.Op != "write file" {
						t.Errorf("got %#v", err)
					}
					return
				}
				at := tt.at
				if at == "" {
					at = tt.path
				}
				m.wantContent(at, "new\x00\xff")
				if got := strings.TrimSpace(m.sh(`stat -c '%a %u:%g' "$1"`, at)); got != tt.mode {
					t.Errorf("mode and owner are %s, not %s", got, tt.mode)
				}
			})
		}
		m.wantNoStage()
	})
}

// The files that containers have as mounts of their own cannot be replaced.
func TestPutToAMount(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "bash"}, nil)
	if out := m.sh(`echo old >/root/a; echo old >/root/b; chmod 640 /root/b; mount --bind /root/a /root/b 2>&1 || echo no`); out != "" {
		simtest.Unable(t, "the machine cannot mount: "+out)
	}
	if err := m.WriteFile(t.Context(), "/root/b", []byte("new"), nil); err != nil {
		t.Fatal(err)
	}
	m.wantContent("/root/b", "new")
	m.wantContent("/root/a", "new")
	m.wantNoStage()
}

// TestPutSizes writes content of sizes around every limit, and counts what that takes.
func TestPutSizes(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		size   int64
		hidden bool // whether Put can know the size
		rare   bool // whether to leave it to long runs
		want   trips
	}{
		{0, false, false, trips{1, 1, 0}},
		{0, true, false, trips{1, 1, 0}},
		{1, true, false, trips{1, 1, 0}},
		{mib, false, false, trips{1, 1, 0}},
		{mib + 1, false, false, trips{1, 1, 0}},
		{64 * mib, true, true, trips{1, 1, 0}},
		{64*mib + 1, true, false, trips{1, 2, 0}},
		{100 * mib, false, true, trips{1, 1, 0}},
		{100*mib + 1, false, true, trips{1, 2, 0}},
		{120 * mib, true, true, trips{1, 2, 0}},
		{128 * mib, true, true, trips{1, 2, 0}},
		{150 * mib, false, true, trips{2, 3, 0}},
	}
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	if err := m.WriteFile(t.Context(), "/root/first", nil, nil); err != nil {
		t.Fatal(err)
	}
	for i, tt := range tests {
		if tt.rare && !all() {
			continue
		}
		t.Run(fmt.Sprintf("%d %v", tt.size, tt.hidden), func(t *testing.T) {
			opts := &smol.WriteOptions{Size: tt.size}
			if tt.hidden {
				opts = nil
			}
			var err error
			got := m.count(func() { err = m.Put(t.Context(), "/root/f", plain(noise(uint64(i), tt.size)), opts) })
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("%+v, not %+v", got, tt.want)
			}
			if want := sumOf(t, noise(uint64(i), tt.size)); m.sum("/root/f") != want {
				t.Error("the content is another one")
			}
		})
	}
	m.wantNoStage()
}

// Put knows the size of what can be asked for it, and so needs no pieces.
func TestPutFindsSizes(t *testing.T) {
	const size = 100_000
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size + 5); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var b *bent
	m := newFileMachine(t, smol.Spec{}, func(next smol.Backend) smol.Backend {
		b = bend(next, func(*bent) {})
		return b
	})
	for name, r := range map[string]io.Reader{
		"file":    f,
		"buffer":  bytes.NewBuffer(make([]byte, size)),
		"section": io.NewSectionReader(f, 0, size),
		"reader":  strings.NewReader(strings.Repeat("x", size)),
	} {
		b.sizes = nil
		if err := m.Put(t.Context(), "/workspace/f", r, nil); err != nil {
			t.Fatal(err)
		}
		if len(b.sizes) != 1 || b.sizes[0] != size {
			t.Errorf("%s: uploads of %d bytes", name, b.sizes)
		}
	}
	if runtime.GOOS != "linux" {
		return // there is no such file elsewhere
	}
	proc, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if err := m.Put(t.Context(), "/workspace/f", proc, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := m.Stat(t.Context(), "/workspace/f"); err != nil || info.Size() == 0 {
		t.Errorf("a file of /proc was taken for empty: %v", err)
	}
}

func TestPutReadsSizeBytes(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	r := strings.NewReader("content and more")
	if err := m.Put(t.Context(), "/root/f", r, &smol.WriteOptions{Size: 7}); err != nil {
		t.Fatal(err)
	}
	m.wantContent("/root/f", "content")
	if rest, _ := io.ReadAll(r); string(rest) != " and more" {
		t.Errorf("%q is left in the reader", rest)
	}
	err := m.Put(t.Context(), "/root/f", strings.NewReader("short"), &smol.WriteOptions{Size: 6})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("a reader that ended early: %v", err)
	}
	m.wantContent("/root/f", "content")
	m.wantNoStage()
}

var errReader = errors.New("the disk is gone")

// smallPieces is a machine to which everything goes in pieces of 1 MiB.
func smallPieces(t *testing.T) *fileMachine {
	t.Helper()
	return newFileMachine(t, smol.Spec{Image: "busybox", Mounts: []smol.Mount{{Source: t.TempDir(), Target: "/workspace"}}}, nil)
}

// A Put whose reader fails, in any piece, leaves the old file and nothing else.
func TestPutReaderFails(t *testing.T) {
	m := smallPieces(t)
	if err := m.WriteFile(t.Context(), "/root/f", []byte("old"), nil); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 1, 100_000, 1 << 20, 3 << 19, 35 << 19} {
		for _, size := range []int64{0, after + 1} {
			if size > 4<<20 && !all() {
				continue // the pieces are the same, whether their number is known or not
			}
			r := plain(io.MultiReader(noise(1, after), failing{errReader}))
			err := m.Put(t.Context(), "/root/f", r, &smol.WriteOptions{Size: size})
			var e *smol.Error
			if !errors.Is(err, errReader) || !errors.As(err, &e) || e.Path != "/root/f" {
				t.Errorf("after %d bytes of %d: %v", after, size, err)
			}
			m.wantContent("/root/f", "old")
		}
	}
	m.wantNoStage()
}

// Readers are read as the rules for them allow.
func TestPutOddReaders(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	content := strings.Repeat("content ", 1000)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"a byte at a time":      iotest.OneByteReader,
		"half of what is asked": iotest.HalfReader,
		"the end with the data": iotest.DataErrReader,
		"sometimes nothing":     func(r io.Reader) io.Reader { return &lazy{r: r} },
	} {
		for _, size := range []int{0, len(content)} {
			if err := m.Put(t.Context(), "/root/f", wrap(plain(strings.NewReader(content))), &smol.WriteOptions{Size: int64(size)}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			m.wantContent("/root/f", content)
			m.sh("rm /root/f")
		}
	}
	for name, r := range map[string]io.Reader{
		"more than asked": broken(func(p []byte) (int, error) { return len(p) + 1, nil }),
		"less than none":  broken(func([]byte) (int, error) { return -1, nil }),
		"a late failure":  iotest.TimeoutReader(iotest.OneByteReader(plain(strings.NewReader(content)))),
	} {
		err := m.Put(t.Context(), "/root/f", r, nil)
		var e *smol.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, "reading what is to be written") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.wantNoStage()
}

// lazy reads nothing every other time.
type lazy struct {
	r io.Reader
	n int
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.n++; l.n%2 == 0 {
		return 0, nil
	}
	return l.r.Read(p)
}

type broken func(p []byte) (int, error)

func (b broken) Read(p []byte) (int, error) { return b(p) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A Put that is cancelled, in any piece, returns, and leaves the old file and nothing else.
func TestPutCancelled(t *testing.T) {
	m := smallPieces(t)
	if err := m.WriteFile(t.Context(), "/root/f", []byte("old"), nil); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 100_000, 1 << 20, 3 << 19, 35 << 19} {
		ctx, cancel := context.WithCancel(t.Context())
		stuck, unstick := io.Pipe()
		tell := tellsFirst{Reader: stuck, tell: cancel}
		err := m.Put(ctx, "/root/f", plain(io.MultiReader(noise(1, after), &tell)), nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %d bytes: %v", after, err)
		}
		unstick.Close()
		m.wantContent("/root/f", "old")
	}
	m.wantNoStage()
}

// tellsFirst calls tell before the first read.
type tellsFirst struct {
	io.Reader
	tell func()
}

func (r *tellsFirst) Read(p []byte) (int, error) {
	r.tell()
	return r.Reader.Read(p)
}

// A reader in the machine sees the old content or the new one, each whole.
func TestPutIsAtomic(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		contents := [][]byte{bytes.Repeat([]byte("a"), 300_000), bytes.Repeat([]byte("b"), 300_000)}
		paths := []string{"/root/f", "/workspace/f"}
		switch busybox := strings.HasSuffix(t.Name(), "busybox"); {
		case all():
		case busybox:
			paths = paths[1:]
		default:
			paths = paths[:1]
		}
		for _, path := range paths {
			if err := m.WriteFile(t.Context(), path, contents[0], nil); err != nil {
				t.Fatal(err)
			}
			reader := m.Command("sh", "-c", `while [ ! -e "$1.stop" ]; do cksum <"$1" || echo none; done | sort | uniq | wc -l; rm "$1.stop"`, "sh", path)
			var out bytes.Buffer
			reader.Stdout = &out
			if err := reader.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range rounds.N(4) {
				if err := m.WriteFile(t.Context(), path, contents[(i+1)%2], nil); err != nil {
					t.Fatal(err)
				}
			}
			m.sh(`: >"$1.stop"`, path)
			if err := reader.Wait(); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(out.String()); got != "2" && got != "1" {
				t.Errorf("a reader saw %s contents of 2", got)
			}
		}
	})
}

// Hostile paths are refused by name, and nothing is sent.
func TestFilePathsAreChecked(t *testing.T) {
	f, m := newFakeMachine()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	paths := []string{
		"", "x", "./x", "~/x", "..", "/..", "/../x", "/a/../b", "/a/..", "/\x00", "/a\x00/b", "/\xff", "/" + strings.Repeat("x", 4096), "C:\\x",
	}
	for _, path := range paths {
		for name, call := range map[string]func(context.Context) error{
			"ReadFile":  func(ctx context.Context) error { _, err := m.ReadFile(ctx, path); return err },
			"WriteFile": func(ctx context.Context) error { return m.WriteFile(ctx, path, nil, nil) },
			"Put":       func(ctx context.Context) error { return m.Put(ctx, path, strings.NewReader(""), nil) },
			"Open":      func(ctx context.Context) error { _, err := m.Open(ctx, path, nil); return err },
			"Stat":      func(ctx context.Context) error { _, err := m.Stat(ctx, path); return err },
			"Lstat":     func(ctx context.Context) error { _, err := m.Lstat(ctx, path); return err },
			"ReadDir":   func(ctx context.Context) error { _, err := m.ReadDir(ctx, path); return err },
			"MkdirAll":  func(ctx context.Context) error { return m.MkdirAll(ctx, path, nil) },
			"Remove":    func(ctx context.Context) error { return m.Remove(ctx, path, nil) },
			"CopyFS":    func(ctx context.Context) error { return m.CopyFS(ctx, path, os.DirFS("."), nil) },
			"CopyOut":   func(ctx context.Context) error { return m.CopyOut(ctx, path, root, nil) },
		} {
			err := call(t.Context())
			var e *smol.Error
			if !errors.Is(err, smol.ErrInvalid) || !errors.As(err, &e) || !strings.HasPrefix(e.Message, "path ") || e.Op == "" || e.Machine != "web" {
				t.Errorf("%s(%.20q): %v", name, path, err)
			}
		}
	}
	f.wantCalls(t)
}

// So are the other arguments.
func TestFileOptionsAreChecked(t *testing.T) {
	f, m := newFakeMachine()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx := t.Context()
	open := func(o smol.OpenOptions) error { _, err := m.Open(ctx, "/f", &o); return err }
	for want, err := range map[string]error{
		"WriteOptions.Size is negative":       m.Put(ctx, "/f", strings.NewReader(""), &smol.WriteOptions{Size: -1}),
		"WriteOptions.Size is 3":              m.WriteFile(ctx, "/f", []byte("four"), &smol.WriteOptions{Size: 3}),
		"WriteOptions.Mode drwxr-xr-x":        m.WriteFile(ctx, "/f", nil, &smol.WriteOptions{Mode: fs.ModeDir | 0o755}),
		"MkdirOptions.Mode Lrwxr-xr-x":        m.MkdirAll(ctx, "/f", &smol.MkdirOptions{Mode: fs.ModeSymlink | 0o755}),
		"r is nil":                            m.Put(ctx, "/f", nil, nil),
		"OpenOptions.Offset is negative":      open(smol.OpenOptions{Offset: -1}),
		"OpenOptions.Length is negative":      open(smol.OpenOptions{Length: -1}),
		"OpenOptions.Length ends behind":      open(smol.OpenOptions{Offset: 1 << 62, Length: 1 << 62}),
		`path "/" cannot be removed`:          m.Remove(ctx, "/", &smol.RemoveOptions{Recursive: true}),
		"fsys is nil":                         m.CopyFS(ctx, "/d", nil, nil),
		"root is nil":                         m.CopyOut(ctx, "/d", nil, nil),
		`dir "/" cannot be copied; name the`:  m.CopyOut(ctx, "/.//", root, nil),
		`WriteOptions.Mode ?---------`:        m.WriteFile(ctx, "/f", nil, &smol.WriteOptions{Mode: fs.ModeIrregular}),
		`WriteOptions.Mode p---------`:        m.Put(ctx, "/f", strings.NewReader(""), &smol.WriteOptions{Mode: fs.ModeNamedPipe}),
		`WriteOptions.Mode Drw-------`:        m.Put(ctx, "/f", strings.NewReader(""), &smol.WriteOptions{Mode: fs.ModeDevice | 0o600}),
		"OpenOptions.Offset is negative (inv": open(smol.OpenOptions{Offset: -1, Length: 5}),
	} {
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f.wantCalls(t)
}
