package guest_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smol-machines/smol-go/internal/guest"
)

var fileRequests = []guest.FileRequest{
	&guest.FileBase{Bases: []string{guest.BaseWorkspace, guest.BaseFallback}},
	&guest.FileJoin{Pieces: []guest.FilePiece{{Path: "/s/a", Size: 1 << 40}, {Path: "/s/b"}}},
	&guest.FileAppend{Stage: "/s/a", Data: []byte{0, 255, '\n'}},
	&guest.FileCommit{Path: "/a b", Mode: -1, Pieces: []guest.FilePiece{{Path: "/s/a", Size: 1}}},
	&guest.FileCommit{Path: "/-rf", Mode: 0, Pieces: []guest.FilePiece{{Path: "/s/a", Size: 1}}},
	&guest.FileCommit{Path: "/\n", Mode: 0o7777, Pieces: []guest.FilePiece{{Path: "/s/a", Size: 1}}},
	&guest.FileDrop{Prefix: "/s/a."},
	&guest.FileDrop{Prefix: "/s/a.", Late: true},
	&guest.FileCut{Path: "/f", Offset: 1, Length: -1, Inline: 3, Stage: "/s/a", Window: 5},
	&guest.FileCut{Path: "/f", Length: 2},
	&guest.FileStat{Path: "/f"},
	&guest.FileStat{Path: "/follow", Follow: true},
	&guest.FileList{Dir: "/d"},
	&guest.FileList{Dir: "/d", Stage: "/s/a"},
	&guest.FileMkdir{Path: "/d", Mode: 0o755},
	&guest.FileMkdir{Path: "/d", Mode: 0},
	&guest.FileMkdir{Path: "/d", Mode: 0o2775},
	&guest.FileRemove{Path: "/f"},
	&guest.FileRemove{Path: "/f", All: true},
	&guest.FileTar{Dir: "/d", Stage: "/s/a"},
	&guest.FileUntar{Dir: "/d", Pieces: []guest.FilePiece{{Path: "/s/a", Size: 7}, {Path: "/s/b", Size: 8}}},
}

func TestParseFile(t *testing.T) {
	seen := map[string]bool{}
	for _, want := range fileRequests {
		argv := want.Argv()
		seen[argv[4]] = true
		got, ok := guest.ParseFile(argv)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%T, %v (-want +got):\n%s", want, ok, diff)
		}
	}
	script := fileRequests[0].Argv()[2]
	for _, op := range strings.Split(script[strings.Index(script, "case $op in"):], "\n") {
		if name, _, found := strings.Cut(op, ")"); found && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" && !seen[name] {
			t.Errorf("the operation %q of the script has no request here", name)
		}
	}
}

func TestParseFileRefuses(t *testing.T) {
	good := (&guest.FileStat{Path: "/f"}).Argv()
	for name, argv := range map[string][]string{
		"nothing":          nil,
		"another command":  {"stat", "/f"},
		"another script":   {"sh", "-c", "true", guest.FileName, "stat", "/f", "-"},
		"another name":     {good[0], good[1], good[2], "smol", "stat", "/f", "-"},
		"no operation":     good[:4],
		"too few":          good[:6],
		"too many":         append(slices.Clone(good), "x"),
		"unknown":          append(slices.Clone(good[:4]), "chmod", "/f"),
		"no flag":          append(slices.Clone(good[:4]), "stat", "/f", "maybe"),
		"no number":        append(slices.Clone(good[:4]), "cut", "/f", "one", "1", "1", "", "1"),
		"no mode":          append(slices.Clone(good[:4]), "commit", "/f", "rwx", "/s", "1"),
		"mode too large":   append(slices.Clone(good[:4]), "commit", "/f", "0100000", "/s", "1"),
		"piece, no size":   append(slices.Clone(good[:4]), "join", "/s"),
		"no piece":         append(slices.Clone(good[:4]), "join"),
		"no base64":        append(slices.Clone(good[:4]), "append", "/s", "%"),
		"size is no count": append(slices.Clone(good[:4]), "untar", "/d", "/s", ""),
	} {
		if got, ok := guest.ParseFile(argv); ok {
			t.Errorf("%s: parsed as %T%+v", name, got, got)
		}
	}
}

func TestFileReplies(t *testing.T) {
	for _, want := range []*guest.FileReply{
		{Status: guest.FileOK, Fields: []string{}, Body: []byte{}},
		{Status: guest.FileOK, Fields: []string{"12", "3:4"}, Body: []byte("\x00\xff\nsmolfs1 fail\n")},
		{Status: guest.FileNoTool, Fields: []string{"tar"}, Body: []byte{}},
		{Status: guest.FileWrongSize, Fields: []string{"1", "2", "3"}, Body: []byte{}},
	} {
		got, err := guest.ParseFileReply(want.Encode())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	for _, out := range []string{
		"", "\n", "smolfs1", "smolfs1 ok", "smolfs1 \n", "smolfs1 great\n", "smolfs2 ok\n", " smolfs1 ok\n", "sh: not found\n", "smol1 exited 0 0 0 0 0\n",
	} {
		if got, err := guest.ParseFileReply([]byte(out)); !errors.Is(err, guest.ErrNoShell) {
			t.Errorf("%q: %+v, %v", out, got, err)
		}
	}
}

func TestCutReply(t *testing.T) {
	for _, status := range []guest.FileStatus{guest.FileOK, guest.FileStaged, guest.FileBig} {
		want := &guest.CutReply{Size: 1 << 40, Identity: "5:6"}
		body := []byte{}
		switch status {
		case guest.FileOK:
			body, want.Length = []byte("abc"), 3
		case guest.FileStaged:
			want.Length = 1 << 39
		}
		reply := &guest.FileReply{Status: status, Fields: want.Fields(status), Body: body}
		got, err := reply.Cut()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", status, err, diff)
		}
	}
	for _, fields := range [][]string{nil, {"1"}, {"x", "1:1"}, {"-1", "1:1"}, {"1", "2", "3"}} {
		reply := &guest.FileReply{Status: guest.FileOK, Fields: fields}
		if got, err := reply.Cut(); err == nil {
			t.Errorf("%q: %+v", fields, got)
		}
	}
}

var fileRecords = []*guest.FileRecord{
	{Name: "f", Mode: 0o100644, UID: 1, GID: 2, Size: 3, ModTime: time.Unix(4, 5)},
	{Name: "\n'\xff -> ", Mode: 0o104755, UID: 4294967294, Size: 1 << 50, ModTime: time.Unix(-62135596800, 999999999)},
	{Name: "end", Mode: 0o040755, ModTime: time.Unix(0, 0)},
	{Name: "'", Mode: 0o120777, Size: 11, ModTime: time.Unix(1, 0), Link: "a'\n -> \xff/b\n"},
	{Name: "exe", Mode: 0o120777, ModTime: time.Unix(1, 0), Link: "/bin/sh"}, // as /proc has it: no size
}

func TestFileRecords(t *testing.T) {
	var listing []byte
	for _, want := range fileRecords {
		b := guest.AppendFileRecord(nil, want)
		listing = append(listing, b...)
		got, err := guest.ParseFileRecord(b, want.Name)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		quoted := bytes.Replace(b, []byte("/"+want.Name+"/"+want.Name), []byte("/"+want.Name+"/'"+want.Name+"'"), 1)
		if want.IsLink() {
			quoted = bytes.Replace(quoted, []byte(" -> "+want.Link+"\n"), []byte(" -> '"+want.Link+"'\n"), 1)
		}
		got, err = guest.ParseFileRecord(quoted, want.Name)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", quoted, err, diff)
		}
	}
	listing = guest.AppendFileEnd(listing)
	if diff := cmp.Diff(fileRecords, collectRecords(t, listing)); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
}

func collectRecords(t *testing.T, listing []byte) []*guest.FileRecord {
	t.Helper()
	var got []*guest.FileRecord
	for rec, err := range guest.ReadFileRecords(bytes.NewReader(listing)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec)
	}
	return got
}

// A listing that was cut anywhere is never taken for a whole one.
func TestCutListing(t *testing.T) {
	var listing []byte
	for _, rec := range fileRecords {
		listing = guest.AppendFileRecord(listing, rec)
	}
	listing = guest.AppendFileEnd(listing)
	for n := range listing {
		var last error
		for _, err := range guest.ReadFileRecords(bytes.NewReader(listing[:n])) {
			last = err
		}
		if last == nil {
			t.Errorf("%d of %d bytes are a whole listing", n, len(listing))
		}
	}
	for _, err := range guest.ReadFileRecords(io.MultiReader(bytes.NewReader(listing), strings.NewReader("x"))) {
		if err != nil {
			return
		}
	}
	t.Error("bytes after the end go unnoticed")
}

// Old versions of stat escape odd names.
func TestEscapedRecord(t *testing.T) {
	const line = `a1ff 0 0 9 1 1970-01-01 00:00:01.000000000 +0000/a` + "\n" + `b/'a\nb' -> 'far'` + "\n"
	got, err := guest.ParseFileRecord([]byte(line), "a\nb")
	if err != nil || got.Link != "far" {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzFileRecords(f *testing.F) {
	var listing []byte
	for _, rec := range fileRecords {
		listing = guest.AppendFileRecord(listing, rec)
		f.Add(guest.AppendFileEnd(guest.AppendFileRecord(nil, rec)))
	}
	f.Add(listing)
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		var recs []*guest.FileRecord
		for rec, err := range guest.ReadFileRecords(bytes.NewReader(b)) {
			if err != nil {
				return
			}
			if strings.ContainsAny(rec.Name, "/") || len(rec.Link) > 1 && !rec.IsLink() {
				t.Fatalf("%+v", rec)
			}
			recs = append(recs, rec)
			again = guest.AppendFileRecord(again, rec)
		}
		if len(recs) == 0 {
			return
		}
		for _, rec := range recs {
			if rec.IsLink() && rec.Size != int64(len(rec.Link)) {
				return // written by no stat
			}
		}
		if diff := cmp.Diff(recs, collectRecords(t, guest.AppendFileEnd(again))); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}

func FuzzParseFile(f *testing.F) {
	for _, r := range fileRequests {
		f.Add(strings.Join(r.Argv()[4:], "\x00"))
	}
	head := fileRequests[0].Argv()[:4]
	f.Fuzz(func(t *testing.T, args string) {
		r, ok := guest.ParseFile(append(slices.Clone(head), strings.Split(args, "\x00")...))
		if !ok {
			return
		}
		again, ok := guest.ParseFile(r.Argv())
		if diff := cmp.Diff(r, again); !ok || diff != "" {
			t.Errorf("%v (-first +again):\n%s", ok, diff)
		}
	})
}

func FuzzParseFileReply(f *testing.F) {
	f.Add([]byte("smolfs1 ok 1 2:3\nbody"))
	f.Add([]byte("smolfs1 staged 1 2:3 4\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := guest.ParseFileReply(out)
		if err != nil {
			return
		}
		if cut, err := r.Cut(); err == nil && (cut.Size < 0 || cut.Length < 0) {
			t.Errorf("%+v", cut)
		}
		again, err := guest.ParseFileReply(r.Encode())
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("%v (-first +again):\n%s", err, diff)
		}
	})
}
