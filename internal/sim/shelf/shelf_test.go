package shelf_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/shelf"
)

type record struct{ Name, Text string }

func open(t *testing.T, dir string) *shelf.Shelf[record] {
	t.Helper()
	s, err := shelf.Open(dir, func(r *record) string { return r.Name })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	names := []string{"m", "M", "../../etc", strings.Repeat("n", 300), ""}
	for _, n := range names {
		for _, text := range []string{"old", "new"} {
			if err := s.Save(&record{n, text}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Remove("M"); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove("M"); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "records", "new-1"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	list, err := open(t, dir).Load()
	for _, r := range list {
		got[r.Name] = r.Text
	}
	want := map[string]string{"m": "new", "../../etc": "new", names[3]: "new", "": "new"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	files, err := os.ReadDir(filepath.Join(dir, "records"))
	if err != nil || len(files) != len(want) {
		t.Errorf("%d files, %v", len(files), err)
	}
	if fi, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

func TestBrokenRecord(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "records", "x.json"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("%v", err)
	}
}

func TestDirectories(t *testing.T) {
	s := open(t, t.TempDir())
	for _, n := range []string{"a", "../b"} {
		if err := s.Prepare(n); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(s.VM(n), "name"))
		if err != nil || string(b) != n {
			t.Errorf("%q, %v", b, err)
		}
		if filepath.Dir(s.Guest(n)) != s.VM(n) || filepath.Dir(s.Console(n)) != s.VM(n) || s.At(shelf.Hash(n)) != s.VM(n) {
			t.Errorf("%s, %s, %s", s.VM(n), s.Guest(n), s.Console(n))
		}
	}
	if got := s.Dangling(map[string]bool{shelf.Hash("a"): true}); !cmp.Equal(got, []string{shelf.Hash("../b")}) {
		t.Errorf("dangling %v", got)
	}
}
