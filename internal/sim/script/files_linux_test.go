package script_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// step is something done in both worlds: an operation, or files put where a client would have uploaded them.
type step struct {
	op  guest.FileRequest
	put map[string]string
}

// tarball is an archive with one of everything.
func tarball(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./ro/", Typeflag: tar.TypeDir, Mode: 0o555},
		{Name: "./ro/f", Typeflag: tar.TypeReg, Mode: 0o640, Size: 5},
		{Name: "./deep/er/x", Typeflag: tar.TypeReg, Mode: 0o755, Size: 5},
		{Name: "./link", Typeflag: tar.TypeSymlink, Linkname: "ro/f"},
		{Name: "./hard", Typeflag: tar.TypeLink, Linkname: "deep/er/x"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("12345")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fileSteps are the operations compared, below the directory d.
func fileSteps(t *testing.T, d string) []step {
	ball := tarball(t)
	stage := func(n string) string { return guest.StageDir(d+"/base") + "/" + n }
	piece := func(n string, size int) guest.FilePiece { return guest.FilePiece{Path: stage(n), Size: int64(size)} }
	put := func(kv ...string) step {
		s := step{put: map[string]string{}}
		for n := 0; n < len(kv); n += 2 {
			s.put[kv[n]] = kv[n+1]
		}
		return s
	}
	do := func(op guest.FileRequest) step { return step{op: op} }
	commit := func(path string, mode int, pieces ...guest.FilePiece) step {
		return do(&guest.FileCommit{Path: d + path, Mode: mode, Pieces: pieces})
	}
	cut := func(path string, offset, length, inline int64, stage string, window int64) step {
		return do(&guest.FileCut{Path: d + path, Offset: offset, Length: length, Inline: inline, Stage: stage, Window: window})
	}
	return []step{
		put("plain", "plain"),
		do(&guest.FileBase{Bases: []string{d + "/plain/x", d + "/base"}}),
		do(&guest.FileBase{Bases: []string{d + "/base"}}),
		do(&guest.FileBase{Bases: []string{d + "/plain"}}),

		do(&guest.FileMkdir{Path: d + "/made/by/us", Mode: 0o700}), do(&guest.FileMkdir{Path: d + "/made/by/us", Mode: 0o755}),
		do(&guest.FileMkdir{Path: d + "/sticky", Mode: 0o1777}), do(&guest.FileMkdir{Path: d + "/plain", Mode: 0o755}),
		do(&guest.FileMkdir{Path: d + "/plain/x", Mode: 0o755}),
		do(&guest.FileStat{Path: d + "/made/by"}), do(&guest.FileStat{Path: d + "/made/by/us"}), do(&guest.FileStat{Path: d + "/sticky"}),

		put("base/.files/a", "hello", "base/.files/b", " world", "base/.files/c", "!"),
		do(&guest.FileJoin{Pieces: []guest.FilePiece{piece("a", 5), piece("b", 6)}}),
		commit("/made/f", -1, piece("a", 11), piece("c", 1)),
		do(&guest.FileStat{Path: d + "/made/f", Follow: true}), cut("/made/f", 0, -1, 100, "", 0),
		do(&guest.FileList{Dir: guest.StageDir(d + "/base")}),
		put("base/.files/a", "short"), commit("/made/f", 0o600, piece("a", 7), piece("gone", 1)),
		do(&guest.FileList{Dir: guest.StageDir(d + "/base")}),
		put("base/.files/a", "new"), commit("/made/f", 0o4711, piece("a", 3)), do(&guest.FileStat{Path: d + "/made/f"}),
		put("base/.files/a", "newer"), commit("/made/f", -1, piece("a", 5)), do(&guest.FileStat{Path: d + "/made/f"}),
		put("base/.files/a", "x"), commit("/made", -1, piece("a", 1)),
		put("base/.files/a", "x"), commit("/plain/x", -1, piece("a", 1)),
		put("base/.files/a", "x"), commit("/new/parents/x", -1, piece("a", 1)),
		do(&guest.FileStat{Path: d + "/new/parents"}), do(&guest.FileStat{Path: d + "/new/parents/x"}),

		cut("/made/f", 1, 3, 100, "", 0), cut("/made/f", 4, 100, 100, "", 0), cut("/made/f", 50, 3, 100, "", 0),
		cut("/made/f", 0, -1, 2, "", 0), cut("/made/f", 0, -1, 2, stage("cut"), 3), cut("/made/f", 1, 4, 2, stage("cut2"), 100),
		cut("/made", 0, -1, 2, "", 0), cut("/nope", 0, -1, 2, "", 0), cut("/plain/x", 0, -1, 2, "", 0),
		do(&guest.FileList{Dir: guest.StageDir(d + "/base")}), do(&guest.FileDrop{Prefix: stage("cu")}),
		do(&guest.FileList{Dir: guest.StageDir(d + "/base")}), do(&guest.FileDrop{Prefix: d + "/nowhere/x"}),

		do(&guest.FileAppend{Stage: stage("app"), Data: []byte("one\x00")}), do(&guest.FileAppend{Stage: stage("app"), Data: []byte("two")}),
		cut("/base/.files/app", 0, -1, 100, "", 0), do(&guest.FileDrop{Prefix: stage("app")}),

		put("base/.files/t", ball), do(&guest.FileUntar{Dir: d + "/un", Pieces: []guest.FilePiece{piece("t", len(ball))}}),
		do(&guest.FileList{Dir: d + "/un"}), do(&guest.FileList{Dir: d + "/un/ro"}), do(&guest.FileStat{Path: d + "/un/deep/er/x"}),
		do(&guest.FileStat{Path: d + "/un/link"}), do(&guest.FileStat{Path: d + "/un/link", Follow: true}), cut("/un/hard", 0, -1, 9, "", 0),
		put("base/.files/t", ball), do(&guest.FileUntar{Dir: d + "/un", Pieces: []guest.FilePiece{piece("t", len(ball))}}),
		put("base/.files/t", ball), do(&guest.FileUntar{Dir: d + "/plain/x", Pieces: []guest.FilePiece{piece("t", len(ball))}}),
		put("base/.files/t", ball), do(&guest.FileUntar{Dir: d + "/plain", Pieces: []guest.FilePiece{piece("t", len(ball))}}),
		put("base/.files/t", ball), do(&guest.FileUntar{Dir: d + "/un2", Pieces: []guest.FilePiece{piece("t", 1)}}),
		put("base/.files/t", "junk"), do(&guest.FileUntar{Dir: d + "/un3", Pieces: []guest.FilePiece{piece("t", 4)}}),
		do(&guest.FileTar{Dir: d + "/plain", Stage: stage("tar")}), do(&guest.FileTar{Dir: d + "/nope", Stage: stage("tar")}),

		put("base/.files/a", "through"), commit("/un/link", -1, piece("a", 7)), do(&guest.FileStat{Path: d + "/un/link"}),
		cut("/un/ro/f", 0, -1, 100, "", 0), do(&guest.FileStat{Path: d + "/un/ro/f"}),
		do(&guest.FileList{Dir: d + "/plain"}), do(&guest.FileList{Dir: d + "/nope"}), do(&guest.FileList{Dir: d + "/plain/x"}),
		do(&guest.FileList{Dir: d + "/un", Stage: stage("ls")}), do(&guest.FileStat{Path: d + "/nope"}), do(&guest.FileStat{Path: d + "/plain/x"}),

		do(&guest.FileRemove{Path: d + "/un"}), do(&guest.FileRemove{Path: d + "/un/link"}), do(&guest.FileStat{Path: d + "/un/ro/f"}),
		do(&guest.FileRemove{Path: d + "/un", All: true}), do(&guest.FileRemove{Path: d + "/un", All: true}), do(&guest.FileRemove{Path: d + "/un"}),
		do(&guest.FileRemove{Path: d + "/plain/x"}), do(&guest.FileRemove{Path: d + "/plain/x", All: true}), do(&guest.FileRemove{Path: d + "/sticky"}),
		do(&guest.FileList{Dir: d}),
	}
}

// world is where operations are carried out: the host's own sh, or a machine.
type world struct {
	run func(argv []string) []byte
	put func(name, data string)
}

// TestFilesAsTheScript carries out the same operations with the real script in a directory of the host, and in a machine, under the
// same names, and compares the replies.
func TestFilesAsTheScript(t *testing.T) {
	d := filepath.Join(t.TempDir(), "d")
	host := world{
		run: func(argv []string) []byte {
			out, _ := osexec.CommandContext(t.Context(), argv[0], argv[1:]...).Output() // the reply says how it went
			return out
		},
		put: func(name, data string) {
			if err := os.WriteFile(filepath.Join(d, name), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	}
	if err := os.Mkdir(d, 0o755); err != nil {
		t.Fatal(err)
	}
	in := boot(t, script.New(nil), nil)
	exec(t, in, &sim.Command{Argv: (&guest.FileMkdir{Path: d, Mode: 0o755}).Argv()})
	machine := world{
		run: func(argv []string) []byte {
			out, _, _ := exec(t, in, &sim.Command{Argv: argv})
			return []byte(out)
		},
		put: func(name, data string) {
			if _, err := in.WriteFile(d+"/"+name, strings.NewReader(data)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for n, s := range fileSteps(t, d) {
		if s.put != nil {
			for name, data := range s.put {
				host.put(name, data)
				machine.put(name, data)
			}
			continue
		}
		want, got := said(t, host, s.op), said(t, machine, s.op)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step %d, %T%+v (-script +machine):\n%s", n, s.op, s.op, diff)
		}
	}
}

// said is a reply without what must differ: owners, times, directory sizes and the identity of a file.
func said(t *testing.T, w world, op guest.FileRequest) []string {
	t.Helper()
	out := w.run(op.Argv())
	reply, err := guest.ParseFileReply(out)
	if err != nil {
		t.Fatalf("%T: %v: %q", op, err, out)
	}
	words := []string{string(reply.Status)}
	describe := func(r *guest.FileRecord) {
		if r.Mode&0o170000 == 0o040000 {
			r.Size = 0
		}
		words = append(words, fmt.Sprintf("%s %o %d %q", r.Name, r.Mode, r.Size, r.Link))
	}
	switch op := op.(type) {
	case *guest.FileStat:
		if reply.Status == guest.FileOK {
			r, err := guest.ParseFileRecord(reply.Body, op.Path)
			if err != nil {
				t.Fatal(err)
			}
			describe(r)
		}
	case *guest.FileList:
		if op.Stage != "" || reply.Status != guest.FileOK {
			break
		}
		for r, err := range guest.ReadFileRecords(bytes.NewReader(reply.Body)) {
			if err != nil {
				t.Fatal(err)
			}
			describe(r)
		}
		slices.Sort(words[1:])
	case *guest.FileCut:
		words = append(words, string(reply.Body))
		if c, err := reply.Cut(); err == nil {
			words = append(words, fmt.Sprint(c.Size, c.Length))
		}
	default:
		words = append(words, reply.Fields...)
	}
	return words
}

// TestTar packs a tree in a machine and reads it with the library of Go.
func TestTar(t *testing.T) {
	in := boot(t, script.New(nil), nil)
	for name, data := range map[string]string{"/src/a": "A", "/src/sub/b": "BB", "/src/.smol/.files/old": "not this"} {
		if _, err := in.WriteFile(name, strings.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := guest.ParseFileReply([]byte(first(exec(t, in, &sim.Command{
		Argv: (&guest.FileTar{Dir: "/src", Stage: "/src/.smol/.files/t"}).Argv(),
	}))))
	if err != nil || reply.Status != guest.FileOK {
		t.Fatalf("%v, %+v", err, reply)
	}
	f, fi, err := in.ReadFile("/src/.smol/.files/t")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff([]string{fmt.Sprint(fi.Size()), "0"}, reply.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = string(data)
	}
	want := map[string]string{"./": "", "./a": "A", "./sub/": "", "./sub/b": "BB"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func first(stdout, _ string, _ int) string { return stdout }
