package smol_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
)

// A fleet that moves no files has them moved by commands.
func TestFilesByCommands(t *testing.T) {
	unsupported := &smol.Error{Code: smol.CodeUnsupported, Message: "no files here"}
	for name, wrap := range map[string]func(smol.Backend) smol.Backend{
		"not there": func(next smol.Backend) smol.Backend { return onlyCommands{next} },
		"refused": func(next smol.Backend) smol.Backend {
			return bend(next, func(b *bent) {
				b.upload = func(context.Context, string, io.Reader, int64, func(io.Reader, int64) error) error {
					return unsupported
				}
				b.download = func(string, func() (io.ReadCloser, int64, error)) (io.ReadCloser, int64, error) {
					return nil, 0, unsupported
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newFileMachine(t, smol.Spec{Image: "busybox"}, wrap)
			for _, size := range []int64{0, 1, 48 << 10, 48<<10 + 1} {
				for _, known := range slices.Compact([]int64{0, size}) {
					var want bytes.Buffer
					_, _ = io.Copy(&want, noise(uint64(size), size)) // never fails
					err := m.Put(t.Context(), "/root/f", plain(bytes.NewReader(want.Bytes())), &smol.WriteOptions{Size: known})
					if err != nil {
						t.Fatal(err)
					}
					m.wantContent("/root/f", want.String())
				}
			}
			m.sh(`i=0; while [ $i -lt 4000 ]; do echo "line $i of a long file, which does not fit into one reply of a command"; i=$((i+1)); done >/root/large`)
			var lines strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&lines, "line %d of a long file, which does not fit into one reply of a command\n", i)
			}
			large := lines.String()
			m.wantContent("/root/large", large)
			f, err := m.Open(t.Context(), "/root/large", &smol.OpenOptions{Offset: 7, Length: 1<<18 + 1})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got, err := io.ReadAll(f); err != nil || string(got) != large[7:7+1<<18+1] {
				t.Errorf("the range has %d bytes, %v", len(got), err)
			}
			m.wantContent("/proc/version", m.sh("cat /proc/version"))
			m.wantNoStage()
		})
	}
}

// Uploads of a known trap arrive elsewhere although the service says that all is well. They are found missing and sent again in small
// pieces.
func TestPutLostUploads(t *testing.T) {
	const mib = 1 << 20
	var lost int
	m := newFileMachine(t, smol.Spec{}, func(next smol.Backend) smol.Backend {
		return bend(next, func(b *bent) {
			b.upload = func(_ context.Context, _ string, r io.Reader, _ int64, next func(io.Reader, int64) error) error {
				head, err := io.ReadAll(io.LimitReader(r, mib+1))
				if err != nil || len(head) <= mib {
					return errors.Join(err, next(bytes.NewReader(head), int64(len(head))))
				}
				lost++
				_, err = io.Copy(io.Discard, r)
				return err
			}
		})
	})
	var whole bytes.Buffer
	_, _ = io.Copy(&whole, noise(1, 17*mib+1)) // never fails
	content := whole.Bytes()
	n := m.count(func() {
		if err := m.WriteFile(t.Context(), "/root/f", content, nil); err != nil {
			t.Fatal(err)
		}
	})
	if want := fmt.Sprintf("%x", sha256.Sum256(content)); !strings.HasPrefix(m.sh("sha256sum /root/f"), want) {
		t.Error("the content is another one")
	}
	// The base, the first try, a join of 17 pieces, the rest.
	if want := (trips{4, 18, 0}); n != want || lost != 1 {
		t.Errorf("%+v, not %+v; %d lost", n, want, lost)
	}
	content = content[:mib+2] // still more than arrives, in two pieces
	err := m.Put(t.Context(), "/root/g", plain(bytes.NewReader(content)), nil)
	var e *smol.Error
	if !errors.As(err, &e) || e.Hint == "" || e.Code != smol.CodeInternal {
		t.Errorf("what cannot be read again: %v", err)
	}
	if _, err := m.Stat(t.Context(), "/root/g"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made of nothing: %v", err)
	}
	if err := m.CopyFS(t.Context(), "/root/tree", treeOf("big", string(content)), nil); err != nil {
		t.Fatal(err)
	}
	m.wantContent("/root/tree/big", string(content))
	m.wantNoStage()
}

// Where a mount of the host covers /workspace, stages lie elsewhere, and in pieces that are safe there.
func TestPutWithoutWorkspace(t *testing.T) {
	const mib = 1 << 20
	dir := t.TempDir()
	var b *bent
	m := newFileMachine(t, smol.Spec{Image: "busybox", Mounts: []smol.Mount{{Source: dir, Target: "/workspace"}}}, func(next smol.Backend) smol.Backend {
		b = bend(next, func(*bent) {})
		return b
	})
	for _, size := range []int64{0, mib, mib + 1, 5 * mib} {
		b.uploads = nil
		if err := m.Put(t.Context(), "/root/f", noise(5, size), &smol.WriteOptions{Size: size}); err != nil {
			t.Fatal(err)
		}
		if want := sumOf(t, noise(5, size)); m.sum("/root/f") != want {
			t.Errorf("%d bytes: the content is another one", size)
		}
		for _, n := range b.uploads {
			if n > mib {
				t.Errorf("%d bytes: uploads of %d", size, b.uploads)
			}
		}
	}
	if left := m.sh("ls -A /workspace"); left != "" {
		t.Errorf("in the user's directory: %q", left)
	}
	m.wantNoStage()
}

// Without a shell whole files can be written and read, and everything else says what is missing.
func TestFilesWithoutShell(t *testing.T) {
	for _, image := range []string{"", "busybox"} {
		t.Run("image "+image, func(t *testing.T) {
			m := newFileMachine(t, smol.Spec{Image: image}, nil)
			if image == "" {
				// The host's programs cannot be removed, but they can be hidden.
				if out := m.sh(`mount -t tmpfs none /usr 2>&1 || echo no`); out != "" {
					simtest.Unable(t, "the machine cannot hide its shell: "+out)
				}
			} else {
				m.sh("rm /bin/sh /bin/ash")
			}
			m.Machine = m.Fleet().Machine(m.Name())
			testWithoutShell(t, m)
		})
	}
}

func testWithoutShell(t *testing.T, m *fileMachine) {
	ctx := t.Context()
	for _, size := range []int64{0, 5, 1 << 20} {
		for _, known := range []int64{0, size} {
			content, _ := io.ReadAll(noise(1, size)) // never fails
			if err := m.Put(ctx, "/root/f", plain(bytes.NewReader(content)), &smol.WriteOptions{Size: known}); err != nil {
				t.Fatal(err)
			}
			m.wantContent("/root/f", string(content))
		}
	}
	if err := m.WriteFile(ctx, "/workspace/f", make([]byte, 2<<20), nil); err != nil {
		t.Errorf("below /workspace: %v", err)
	}
	_, statErr := m.Stat(ctx, "/root/f")
	_, dirErr := m.ReadDir(ctx, "/root")
	_, openErr := m.Open(ctx, "/root/f", &smol.OpenOptions{Offset: 1})
	for name, err := range map[string]error{
		"stat": statErr, "read directory": dirErr, "range": openErr,
		"mode":             m.WriteFile(ctx, "/root/f", nil, &smol.WriteOptions{Mode: 0o600}),
		"large":            m.WriteFile(ctx, "/root/large", make([]byte, 1<<20+1), nil),
		"large, not known": m.Put(ctx, "/root/large", plain(noise(1, 1<<20+1)), nil),
		"mkdir":            m.MkdirAll(ctx, "/root/d", nil),
		"remove":           m.Remove(ctx, "/root/f", nil),
		"tree":             m.CopyFS(ctx, "/root/d", treeOf("f", "x"), nil),
	} {
		var e *smol.Error
		if !errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &e) || e.Hint == "" || !strings.Contains(e.Message, "shell") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.ReadFile(ctx, "/root/large"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was refused was written, or: %v", err)
	}
}

// What the machine's own tools say reaches the caller when nothing better can be said.
func TestFilesFullDisk(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	if out := m.sh(`mkdir /small && mount -t tmpfs -o size=64k none /small 2>&1 || echo no`); out != "" {
		simtest.Unable(t, "the machine cannot mount: "+out)
	}
	if err := m.WriteFile(t.Context(), "/small/f", []byte("old"), nil); err != nil {
		t.Fatal(err)
	}
	err := m.WriteFile(t.Context(), "/small/f", make([]byte, 1<<20), nil)
	var e *smol.Error
	if !errors.As(err, &e) || e.Code != smol.CodeInternal || !strings.Contains(e.Message, "space") {
		t.Errorf("got %v", err)
	}
	m.wantContent("/small/f", "old")
	m.wantNoStage()
}

// Calls on many files of a machine at once stay below what it bears.
func TestManyFilesAtOnce(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	errs := make(chan error)
	const n = 24
	for i := range n {
		go func() {
			path := fmt.Sprintf("/root/f%d", i)
			content := bytes.Repeat([]byte{byte(i)}, 200_000)
			err := m.WriteFile(t.Context(), path, content, nil)
			if err == nil {
				var got []byte
				if got, err = m.ReadFile(t.Context(), path); err == nil && !bytes.Equal(got, content) {
					err = fmt.Errorf("%s has %d bytes", path, len(got))
				}
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := m.local.Reboots(m.Name()); n != 0 {
		t.Errorf("the machine was rebooted %d times", n)
	}
	m.wantNoStage()
}
