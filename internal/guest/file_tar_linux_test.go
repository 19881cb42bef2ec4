package guest_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smol-machines/smol-go/internal/guest"
)

// tarMember is what matters of a file in an archive.
type tarMember struct {
	Type    byte
	Mode    int64
	Content string // or where a link leads
	ModTime time.Time
}

var longFileName = strings.Repeat("long-", 30)

func sampleTree(when time.Time) map[string]tarMember {
	return map[string]tarMember{
		"a/":                              {tar.TypeDir, 0o750, "", time.Time{}},
		"a/empty":                         {tar.TypeReg, 0o600, "", when},
		"a/run.sh":                        {tar.TypeReg, 0o755, "#!/bin/sh\n", when},
		"a/none/":                         {tar.TypeDir, 0o755, "", time.Time{}},
		"-rf":                             {tar.TypeReg, 0o444, "x", when},
		"odd " + oddName[:3] + "\n/":      {tar.TypeDir, 0o755, "", time.Time{}},
		"odd " + oddName[:3] + "\n/ü":     {tar.TypeReg, 0o644, strings.Repeat("ü", 5000), when},
		"link":                            {tar.TypeSymlink, 0o777, "a/run.sh", time.Time{}},
		"far":                             {tar.TypeSymlink, 0o777, "/nowhere/" + longFileName + "/" + longFileName, time.Time{}},
		longFileName + "/":                {tar.TypeDir, 0o755, "", time.Time{}},
		longFileName + "/" + longFileName: {tar.TypeReg, 0o644, "deep", when},
		"\xff":                            {tar.TypeReg, 0o644, "not text", when},
	}
}

// packTree writes the members in that order.
func packTree(t *testing.T, members map[string]tarMember, names []string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		m := members[name]
		h := &tar.Header{Name: name, Typeflag: m.Type, Mode: m.Mode, ModTime: m.ModTime, Format: tar.FormatGNU}
		if m.Type == tar.TypeSymlink {
			h.Linkname = m.Content
		} else {
			h.Size = int64(len(m.Content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if m.Type == tar.TypeReg {
			if _, err := io.WriteString(w, m.Content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func unpackTree(t *testing.T, r io.Reader) map[string]tarMember {
	t.Helper()
	got := map[string]tarMember{}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, "./")
		if name == "" || name == "." {
			continue
		}
		m := tarMember{h.Typeflag, h.Mode & 0o7777, h.Linkname, time.Time{}}
		if m.Type == tar.TypeReg {
			content, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			m.Content, m.ModTime = string(content), h.ModTime
		}
		got[name] = m
	}
}

func sortedMembers(members map[string]tarMember) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	// Parents sort before their children.
	slices.Sort(names)
	return names
}

func TestFileTrees(t *testing.T) {
	when := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	want := sampleTree(when)
	archive := packTree(t, want, sortedMembers(want))
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		dir := m.root + "/missing/" + oddName
		var pieces []guest.FilePiece
		for rest := archive; rest != ""; {
			n := min(len(rest), 7777)
			pieces = append(pieces, m.stage(t, rest[:n]))
			rest = rest[n:]
		}
		for range 2 { // over nothing, and over itself
			m.want(t, &guest.FileUntar{Dir: dir, Pieces: pieces}, guest.FileOK)
			m.noStages(t)
			for i := range pieces {
				putFile(t, pieces[i].Path, archive[i*7777:min((i+1)*7777, len(archive))], 0o644)
			}
		}
		for _, p := range pieces {
			if err := os.Remove(p.Path); err != nil {
				t.Fatal(err)
			}
		}
		stage := guest.StageDir(m.base) + "/out.tar"
		reply := m.want(t, &guest.FileTar{Dir: dir, Stage: stage}, guest.FileOK)
		packed := getFile(t, stage)
		if got := reply.Fields; len(got) != 2 || got[0] != strconv.Itoa(len(packed)) || got[1] != "0" {
			t.Errorf("fields %q for %d bytes; stderr %q", got, len(packed), m.stderr)
		}
		got := unpackTree(t, strings.NewReader(packed))
		for name, w := range want {
			if g := got[name]; w.Type == tar.TypeReg && g.ModTime.Equal(w.ModTime) {
				g.ModTime = w.ModTime
				got[name] = g
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tree (-want +got):\n%s", diff)
		}
	})
}

func TestFileEmptyTree(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		dir := m.root + "/empty"
		m.want(t, &guest.FileUntar{Dir: dir, Pieces: []guest.FilePiece{m.stage(t, packTree(t, nil, nil))}}, guest.FileOK)
		stage := guest.StageDir(m.base) + "/out.tar"
		m.want(t, &guest.FileTar{Dir: dir, Stage: stage}, guest.FileOK)
		if got := unpackTree(t, strings.NewReader(getFile(t, stage))); len(got) > 0 {
			t.Errorf("an empty tree has %v", got)
		}
	})
}

// The stage may lie in the tree that is packed.
func TestFileTarLeavesTheBaseOut(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		putFile(t, m.root+"/f", "x", 0o644)
		putFile(t, m.root+"/base/job/out", "of a command", 0o644)
		putFile(t, m.root+"/sub/base/f", "of the user", 0o644)
		stage := guest.StageDir(m.base) + "/out.tar"
		for dir, want := range map[string][]string{m.root: {"f", "sub/", "sub/base/", "sub/base/f"}, m.root + "/sub": {"base/", "base/f"}} {
			m.want(t, &guest.FileTar{Dir: dir, Stage: stage}, guest.FileOK)
			got := sortedMembers(unpackTree(t, strings.NewReader(getFile(t, stage))))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", dir, diff)
			}
		}
		if err := os.RemoveAll(m.root + "/sub"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(m.root + "/f"); err != nil {
			t.Fatal(err)
		}
		m.want(t, &guest.FileTar{Dir: m.root, Stage: stage}, guest.FileOK)
		if got := unpackTree(t, strings.NewReader(getFile(t, stage))); len(got) > 0 {
			t.Errorf("a tree of the base only has %v", sortedMembers(got))
		}
		putDir(t, m.root+"/sub")
		link := filepath.Join(m.root, "sub", "link")
		putLink(t, m.root, link)
		m.want(t, &guest.FileTar{Dir: link, Stage: stage}, guest.FileOK)
		if got := unpackTree(t, strings.NewReader(getFile(t, stage))); len(got) != 2 {
			t.Errorf("through a link: %v", sortedMembers(got))
		}
	})
}
