package disks_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/disks"
)

type shape struct {
	Name string
	CPUs int
}

// tree makes a directory with what the disks of a machine have in them.
func tree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disks")
	err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "root", "etc"), 0o750),
		os.WriteFile(filepath.Join(dir, "root", "etc", "secret"), []byte("s"), 0o400),
		os.WriteFile(filepath.Join(dir, "root", "prog"), bytes.Repeat([]byte{0, 1, 255}, 5000), 0o755),
		os.Mkdir(filepath.Join(dir, "empty"), 0o700),
		os.Chtimes(filepath.Join(dir, "root", "prog"), time.Time{}, time.Unix(1e9, 0)),
	)
	if runtime.GOOS != "windows" {
		err = errors.Join(err, os.Symlink("/etc/../prog", filepath.Join(dir, "root", "link")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// list tells what is in a directory: modes, sizes, times and where links lead.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		text := fi.Mode().String()
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text += " " + fi.ModTime().UTC().Format(time.RFC3339) + " " + string(b)
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(file)
			if err != nil {
				return err
			}
			text += " " + to
		}
		out[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	dir := tree(t)
	var file, again bytes.Buffer
	for _, w := range []io.Writer{&file, &again} {
		if err := disks.Write(w, shape{"m", 2}, dir); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("the same disks are not the same bytes")
	}
	r := bufio.NewReader(&file)
	var got shape
	if err := disks.ReadShape(r, &got); err != nil || got != (shape{"m", 2}) {
		t.Fatalf("%+v, %v", got, err)
	}
	to := filepath.Join(t.TempDir(), "new")
	if err := disks.Unpack(r, to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list(t, dir), list(t, to)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCopy(t *testing.T) {
	dir := tree(t)
	to := filepath.Join(t.TempDir(), "new")
	if err := disks.Copy(to, dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list(t, dir), list(t, to)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := disks.Copy(filepath.Join(t.TempDir(), "n"), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy of nothing: %v", err)
	}
	if err := disks.Copy(to, dir); err == nil {
		t.Error("a copy over what is there succeeds")
	}
	var b bytes.Buffer
	if err := disks.Pack(&b, filepath.Join(dir, "none")); err == nil || b.Len() > 0 {
		t.Errorf("what could not be packed is %d bytes, %v", b.Len(), err)
	}
}

// Sockets end with the machine and are left out.
func TestSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "d") // short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skipf("this system has no Unix sockets: %v", err)
	}
	defer l.Close()
	var b bytes.Buffer
	if err := disks.Pack(&b, dir); err != nil {
		t.Fatal(err)
	}
	if h, err := tar.NewReader(&b).Next(); err != io.EOF {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestNoCheckpoint(t *testing.T) {
	var whole bytes.Buffer
	if err := disks.Write(&whole, shape{"m", 2}, tree(t)); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(whole.String(), "{")
	for _, text := range []string{"", "x", head, head + `{"Name":"m"`, strings.Repeat("x", 1000)} {
		if err := disks.ReadShape(bufio.NewReader(strings.NewReader(text)), &shape{}); !errors.Is(err, disks.ErrFormat) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if err := disks.ReadShape(bufio.NewReader(strings.NewReader(head+"{]\n")), &shape{}); err == nil {
		t.Error("a shape that is no JSON is read")
	}
	cut := bufio.NewReader(bytes.NewReader(whole.Bytes()[:whole.Len()/2]))
	if err := disks.ReadShape(cut, &shape{}); err != nil {
		t.Fatal(err)
	}
	if err := disks.Unpack(cut, filepath.Join(t.TempDir(), "d")); err == nil {
		t.Error("a checkpoint that is cut short is unpacked")
	}
}

// evil returns an archive with a file of the name, after a link of the name before it.
func evil(link, to, name string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if link != "" {
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: to})
	}
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 4, Mode: 0o644})
	_, _ = w.Write([]byte("evil"))
	_ = w.Close()
	return b.Bytes()
}

// outside fails if something is beside the only directory that there should be.
func outside(t *testing.T, parent string) {
	t.Helper()
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) > 1 {
		t.Errorf("beside the directory: %v, %v", entries, err)
	}
}

func TestHostileArchive(t *testing.T) {
	for _, tt := range []struct{ name, link, to, file string }{
		{"up", "", "", "../evil"},
		{"absolute", "", "", "/evil"},
		{"through a link", "l", "..", "l/evil"},
		{"over a link", "l", "../evil", "l"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			if err := disks.Unpack(bytes.NewReader(evil(tt.link, tt.to, tt.file)), filepath.Join(parent, "d")); err == nil {
				t.Error("it is unpacked")
			}
			outside(t, parent)
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(evil("", "", "a"))
	f.Add(evil("l", "..", "l/evil"))
	f.Add(evil("l", "/tmp", "l/evil"))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		_ = disks.Unpack(bytes.NewReader(b), filepath.Join(parent, "d"))
		outside(t, parent)
	})
}
