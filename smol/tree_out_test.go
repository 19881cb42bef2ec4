package smol_test

import (
	"archive/tar"
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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
)

func TestCopyOutOneFile(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	m.sh(`printf content >/root/f; chmod 751 /root/f; touch -d '2001-02-03 04:05:06' /root/f; ln -s f /root/link; mkfifo /root/pipe`)
	root := openRoot(t)
	for name, path := range map[string]string{"f": "/root/f", "link": "/root/link"} {
		if err := m.CopyOut(t.Context(), path, root, nil); err != nil {
			t.Fatal(err)
		}
		want := treeFile{0o751, "content", time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)}
		if diff := cmp.Diff(want, treeFiles(t, root.FS())[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for path, want := range map[string]error{"/root/no": fs.ErrNotExist, "/root/f/no": smol.ErrInvalid, "/root/pipe": smol.ErrInvalid} {
		if err := m.CopyOut(t.Context(), path, root, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What cannot be copied does not keep the rest from it.
func TestCopyOutSpecials(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		m.sh(`mkdir /root/t; cd /root/t; echo a >a; ln a hard; mkfifo pipe; ln -s /etc/passwd abs; ln -s ../../x out; ln -s d/../../.. maze; ln -s a rel; echo z >z`)
		root := openRoot(t)
		err := m.CopyOut(t.Context(), "/root/t", root, nil)
		var e *smol.Error
		if !errors.As(err, &e) || !errors.Is(err, errors.ErrUnsupported) || e.Hint == "" || e.Path != "/root/t" {
			t.Fatalf("got %v", err)
		}
		for _, want := range []string{"4 files and directories were copied, and 4 not", `pipe" is a pipe`, `"/etc/passwd"`, `"../../x"`, `"d/../../.."`} {
			if !strings.Contains(e.Message, want) {
				t.Errorf("%q is not in %q", want, e.Message)
			}
		}
		var names []string
		for name := range treeFiles(t, root.FS()) {
			names = append(names, name)
		}
		if len(names) != 4 {
			t.Errorf("copied %q", names)
		}
		a, _ := root.Stat("a")
		if hard, err := root.Stat("hard"); err != nil || !os.SameFile(a, hard) {
			t.Errorf("the hard link: %v", err)
		}
		if err := m.CopyOut(t.Context(), "/root/t", openRoot(t), &smol.CopyOptions{SkipSpecial: true}); err != nil {
			t.Errorf("with SkipSpecial: %v", err)
		}
		m.wantNoStage()
	})
}

// A tree of which the machine cannot read a part.
func TestCopyOutUnreadable(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	m.sh(`mkdir -p /root/t/d; cd /root/t; echo a >a; ln -s / d/x`)
	if out := m.sh(`mount -t proc none /root/t/d 2>&1 || echo no`); out != "" {
		simtest.Unable(t, "the machine cannot mount: "+out)
	}
	root := openRoot(t)
	err := m.CopyOut(t.Context(), "/root/t", root, &smol.CopyOptions{SkipSpecial: true})
	if err == nil {
		t.Error("all of /proc could be read")
	}
	if b, err := root.ReadFile("a"); err != nil || string(b) != "a\n" {
		t.Errorf("%q, %v", b, err)
	}
	m.wantNoStage()
}

// hostile is a machine that answers for a tree what a test wants.
type hostile struct {
	smol.Backend
	archive []byte
	tar     *guest.FileReply // of tar, in and out
}

func (h *hostile) Exec(_ context.Context, _ string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	reply := &guest.FileReply{Status: guest.FileOK}
	switch r, _ := guest.ParseFile(req.Argv); r := r.(type) {
	case *guest.FileBase:
		reply.Fields = r.Bases[:1]
	case *guest.FileTar, *guest.FileUntar:
		reply = h.tar
	}
	return &smol.ExecResult{Stdout: reply.Encode()}, nil
}

func (h *hostile) Upload(_ context.Context, _, _ string, r io.Reader, _ int64) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (h *hostile) Download(context.Context, string, string) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(h.archive)), int64(len(h.archive)), nil
}

func newHostile(archive []byte, tar *guest.FileReply) *smol.Machine {
	f, m := newFakeMachine()
	if tar == nil {
		tar = &guest.FileReply{Status: guest.FileOK, Fields: []string{fmt.Sprint(len(archive)), "0"}}
	}
	return smol.NewFleet(&hostile{f, archive, tar}).Machine(m.Name())
}

func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len("evil"))
		}
		h.Mode, h.ModTime = 0o777, time.Unix(1, 0)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, "evil"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever the machine sends, nothing is written outside of the directory, through a link, or over a file that a link leads to.
func TestCopyOutOfAHostileMachine(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	dir := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }
	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	hard := func(name, to string) tar.Header { return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to} }
	tests := map[string][]tar.Header{
		"absolute name":                  {file("/outside/new")},
		"name with dots":                 {file("../outside/new")},
		"name with dots inside":          {file("a/../../outside/new")},
		"name of the parent":             {file("..")},
		"directory outside":              {dir("../outside/dir/")},
		"link outside":                   {link("l", "../outside"), file("l/new")},
		"absolute link":                  {link("l", "/outside"), file("l/new")},
		"link outside and replaced":      {link("l", "../outside/secret"), file("l")},
		"link up through a link":         {link("here", "."), link("l", "here/../../outside"), file("l/new")},
		"link below a link":              {dir("d"), link("d/here", "."), link("d/here/l", "../../outside"), file("d/here/l/new")},
		"link below a link, lower":       {dir("d"), link("d/here", "."), dir("d/here/e"), link("d/here/e/l", "../../../outside")},
		"link chain":                     {link("a", "b"), link("b", "../outside"), file("a/new")},
		"link there already":             {file("trap/new")},
		"link there already, replaced":   {file("trap-file")},
		"link there already, a tree":     {dir("trap"), file("trap/x/new")},
		"hard link outside":              {hard("h", "../outside/secret"), file("h")},
		"hard link absolute":             {hard("h", "/outside/secret")},
		"hard link to a link":            {hard("h", "trap-file"), file("h")},
		"hard link through a link":       {hard("h", "trap/secret"), file("h")},
		"hard link name outside":         {file("f"), hard("../outside/new", "f")},
		"link for a directory":           {dir("d"), file("d/f"), link("d", "../outside"), file("d/new")},
		"file for a directory":           {dir("d"), file("d/f"), file("d")},
		"directory for a file":           {file("f"), dir("f"), file("f/new")},
		"device":                         {{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}},
		"block device":                   {{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8}},
		"empty link":                     {link("l", "")},
		"link to the directory's parent": {link("l", "..")},
	}
	for name, headers := range tests {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			for _, d := range []string{"outside", "root"} {
				if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			secret := filepath.Join(top, "outside", "secret")
			if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(secret)
			if err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{"trap": "../outside", "trap-file": "../outside/secret"} {
				err := os.Symlink(target, filepath.Join(top, "root", link))
				if err != nil && runtime.GOOS == "windows" {
					t.Skip("making links needs a right there")
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(filepath.Join(top, "root"))
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			m := newHostile(archive(t, append(headers, file("last"))...), nil)
			err = m.CopyOut(t.Context(), "/tree", root, nil)
			if name != "link there already, replaced" && (err == nil || !strings.Contains(err.Error(), "not:")) {
				t.Errorf("got %v", err)
			}
			if b, err := root.ReadFile("last"); err != nil || string(b) != "evil" {
				t.Errorf("the rest is not copied: %v", err)
			}
			if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
				t.Errorf("outside is %q, %v", b, err)
			}
			if entries, err := os.ReadDir(filepath.Join(top, "outside")); err != nil || len(entries) != 1 {
				t.Errorf("outside has %v, %v", entries, err)
			}
			if info, err := os.Stat(secret); err != nil || info.Mode() != before.Mode() {
				t.Errorf("outside is changed: %v, %v", info, err)
			}
			wantLinksInside(t, filepath.Join(top, "root"))
		})
	}
}

// FuzzCopyOut unpacks whatever a machine may send beside a directory that must not change.
func FuzzCopyOut(f *testing.F) {
	f.Add([]byte(nil))
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "d/f"},
		{Typeflag: tar.TypeReg, Name: "../outside/secret"},
		{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "../outside"},
		{Typeflag: tar.TypeLink, Name: "h", Linkname: "../outside/secret"},
		{Typeflag: tar.TypeDir, Name: "../outside/d/"},
		{Typeflag: tar.TypeReg, Name: strings.Repeat("long/", 50) + "f", Format: tar.FormatGNU},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			f.Fatal(err)
		}
		_ = w.Flush() // an archive that is cut short is a good one here
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		top := t.TempDir()
		defer makeWritable(top)
		secret := filepath.Join(top, "outside", "secret")
		for _, d := range []string{"outside", "root"} {
			if err := os.Mkdir(filepath.Join(top, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(top, "root"))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		err = newHostile(archive, nil).CopyOut(t.Context(), "/tree", root, nil)
		var e *smol.Error
		if err != nil && (!errors.As(err, &e) || e.Path != "/tree") {
			t.Errorf("got %v", err)
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
			t.Errorf("outside is %q, %v", b, err)
		}
		if entries, err := os.ReadDir(top); err != nil || len(entries) != 2 {
			t.Errorf("beside the directory: %v, %v", entries, err)
		}
		if entries, err := os.ReadDir(filepath.Join(top, "outside")); err != nil || len(entries) != 1 {
			t.Errorf("outside has %v, %v", entries, err)
		}
		wantLinksInside(t, filepath.Join(top, "root"))
	})
}

// wantLinksInside fails the test if a link below dir leads out of it, but for the two that were there.
func wantLinksInside(t *testing.T, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir) // the temporary directory may lie behind a link itself
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink || strings.HasPrefix(d.Name(), "trap") {
			return err
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil && real != dir && !strings.HasPrefix(real, dir+"/") {
			t.Errorf("%s leads to %s", path, real)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A stream that breaks off, or is no archive, leaves whole files only and says how many.
func TestCopyOutBreaksOff(t *testing.T) {
	whole := archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "a"}, tar.Header{Typeflag: tar.TypeReg, Name: "b"})
	for name, tt := range map[string]struct {
		archive []byte
		copied  string
	}{
		"nothing":        {nil, "0 files"},
		"no archive":     {[]byte(strings.Repeat("no archive", 100)), "0 files"},
		"in a header":    {whole[:100], "0 files"},
		"in the content": {whole[:514], "0 files"},
		"in the second":  {whole[:1024+514], "1 files"},
	} {
		root := openRoot(t)
		err := newHostile(tt.archive, nil).CopyOut(t.Context(), "/tree", root, nil)
		var e *smol.Error
		if !errors.As(err, &e) || e.Code != smol.CodeInternal || !strings.Contains(e.Message, tt.copied) {
			t.Errorf("%s: %v", name, err)
		}
		for file, f := range treeFiles(t, root.FS()) {
			if f.Content != "evil" {
				t.Errorf("%s: half a file %s: %q", name, file, f.Content)
			}
		}
	}
}

// What cannot be written here ends the copying, and the error says why.
func TestCopyOutCannotWrite(t *testing.T) {
	root := openRoot(t)
	root.Close()
	m := newHostile(archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "a"}), nil)
	err := m.CopyOut(t.Context(), "/tree", root, nil)
	var e *smol.Error
	if !errors.Is(err, os.ErrClosed) || !errors.As(err, &e) || !strings.Contains(e.Message, "0 files") {
		t.Errorf("got %v", err)
	}
}
