package guest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smol-machines/smol-go/internal/guest"
)

var oddNames = []string{
	"plain", " ", "-rf", "--", "*", ".[!.]*", "..?*", ".hidden", "..two", "new\nline", "\n", "'", "'q'", "a -> b", "\xff\xfe", "ü", `back\slash`, "end",
	strings.Repeat("x", 255),
}

func TestFileListAndStat(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		dir := m.root + "/dir\n"
		want := map[string]string{"d": "", "lnk": "new\nline", "dangling": "no\nend\n' -> '", "abs": "/etc/passwd"}
		putDir(t, dir+"/d")
		for _, name := range oddNames {
			putFile(t, filepath.Join(dir, name), name, 0o640)
			want[name] = ""
		}
		for name, target := range want {
			if target != "" {
				putLink(t, target, filepath.Join(dir, name))
			}
		}
		reply := m.want(t, &guest.FileList{Dir: dir}, guest.FileOK)
		stage := m.stage(t, "").Path
		m.want(t, &guest.FileList{Dir: dir, Stage: stage}, guest.FileOK)
		if got := getFile(t, stage); got != string(reply.Body) {
			t.Errorf("the listing in the stage is another one")
		}
		got := map[string]string{}
		for _, rec := range readRecords(t, bytes.NewReader(reply.Body)) {
			got[rec.Name] = rec.Link
			compareRecord(t, rec, filepath.Join(dir, rec.Name), false)
			if strings.Contains(rec.Name, "\xff") {
				continue
			}
			for _, follow := range []bool{false, true} {
				path := filepath.Join(dir, rec.Name)
				if follow && rec.Name == "dangling" {
					m.want(t, &guest.FileStat{Path: path, Follow: true}, guest.FileMissing)
					continue
				}
				body := m.want(t, &guest.FileStat{Path: path, Follow: follow}, guest.FileOK).Body
				one, err := guest.ParseFileRecord(body, path)
				if err != nil {
					t.Fatalf("%q: %v: %q", path, err, body)
				}
				compareRecord(t, one, path, follow)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("names and links (-want +got):\n%s", diff)
		}
	})
}

// compareRecord compares a record with what the system says.
func compareRecord(t *testing.T, rec *guest.FileRecord, path string, follow bool) {
	t.Helper()
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	info, err := stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if rec.Mode != st.Mode || rec.UID != int(st.Uid) || rec.GID != int(st.Gid) || rec.Size != st.Size || !rec.ModTime.Equal(info.ModTime()) {
		t.Errorf("%q is %+v, not %+v", path, rec, st)
	}
	if link, err := os.Readlink(path); err == nil && !follow && rec.Link != link {
		t.Errorf("%q leads to %q, not %q", path, rec.Link, link)
	}
}

func TestFileListOfProcLinks(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		path := fmt.Sprintf("/proc/%d/exe", os.Getpid())
		rec, err := guest.ParseFileRecord(m.want(t, &guest.FileStat{Path: path}, guest.FileOK).Body, path)
		want, _ := os.Executable()
		if err != nil || rec.Link != want {
			t.Errorf("link is %q, not %q; %v", rec.Link, want, err)
		}
	})
}

func TestFileListSizes(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		for _, n := range []int{0, 1, 39, 40, 41, 121} {
			dir := fmt.Sprint(m.root, "/n", n)
			putDir(t, dir)
			var want []string
			for i := range n {
				want = append(want, fmt.Sprintf("entry-%05d", i))
				putFile(t, filepath.Join(dir, want[i]), "", 0o644)
			}
			argv := (&guest.FileList{Dir: dir}).Argv()
			// Not every image has xargs.
			without := slices.Clone(argv)
			without[2] = strings.Replace(argv[2], "command -v xargs >/dev/null", "false", 1)
			if without[2] == argv[2] {
				t.Fatal("the script does not look for xargs")
			}
			for _, argv := range [][]string{argv, without} {
				reply, err := guest.ParseFileReply(m.exec(t, argv))
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, rec := range readRecords(t, bytes.NewReader(reply.Body)) {
					got = append(got, rec.Name)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%d entries, not %d; stderr %q", len(got), len(want), m.stderr)
				}
			}
		}
	})
}

func TestFileFailures(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		putFile(t, m.root+"/file", "x", 0o644)
		putFile(t, m.root+"/full/.hidden", "x", 0o644)
		putLink(t, "nowhere", m.root+"/dangling")
		if err := syscall.Mkfifo(m.root+"/pipe", 0o644); err != nil {
			t.Fatal(err)
		}
		stage := guest.StageDir(m.base) + "/s"
		tests := []struct {
			req    guest.FileRequest
			status guest.FileStatus
		}{
			{&guest.FileStat{Path: m.root + "/no"}, guest.FileMissing},
			{&guest.FileStat{Path: m.root + "/no/no"}, guest.FileMissing},
			{&guest.FileStat{Path: m.root + "/file/no"}, guest.FileNotDir},
			{&guest.FileStat{Path: m.root + "/file/no/no", Follow: true}, guest.FileNotDir},
			{&guest.FileStat{Path: "/no"}, guest.FileMissing},
			{&guest.FileStat{Path: m.root + "/dangling", Follow: true}, guest.FileMissing},
			{&guest.FileList{Dir: m.root + "/no"}, guest.FileMissing},
			{&guest.FileList{Dir: m.root + "/file"}, guest.FileNotDir},
			{&guest.FileList{Dir: m.root + "/file/no"}, guest.FileNotDir},
			{&guest.FileCut{Path: m.root + "/no", Length: -1}, guest.FileMissing},
			{&guest.FileCut{Path: m.root, Length: -1}, guest.FileIsDir},
			{&guest.FileCut{Path: m.root + "/pipe", Length: -1}, guest.FileSpecial},
			{&guest.FileCut{Path: "/dev/zero", Length: -1}, guest.FileSpecial},
			{&guest.FileMkdir{Path: m.root + "/file", Mode: 0o755}, guest.FileNotDir},
			{&guest.FileMkdir{Path: m.root + "/file/x", Mode: 0o755}, guest.FileNotDir},
			{&guest.FileMkdir{Path: m.root + "/dangling", Mode: 0o755}, guest.FileNotDir},
			{&guest.FileRemove{Path: m.root + "/no"}, guest.FileMissing},
			{&guest.FileRemove{Path: m.root + "/no", All: true}, guest.FileOK},
			{&guest.FileRemove{Path: m.root + "/file/no"}, guest.FileNotDir},
			{&guest.FileRemove{Path: m.root + "/full"}, guest.FileNotEmpty},
			{&guest.FileTar{Dir: m.root + "/no", Stage: stage}, guest.FileMissing},
			{&guest.FileTar{Dir: m.root + "/file", Stage: stage}, guest.FilePlain},
			{&guest.FileUntar{Dir: m.root + "/file", Pieces: []guest.FilePiece{m.stage(t, "x")}}, guest.FileNotDir},
			{&guest.FileUntar{Dir: m.root + "/t", Pieces: []guest.FilePiece{m.stage(t, "no tar file at all")}}, guest.FileFailed},
			{&guest.FileAppend{Stage: m.root + "/no/stage"}, guest.FileFailed},
			{&guest.FileBase{Bases: []string{m.root + "/file", m.root + "/file/base"}}, guest.FileNoBase},
			{&guest.FileBase{}, guest.FileNoBase},
		}
		for _, tt := range tests {
			if reply := m.run(t, tt.req); reply.Status != tt.status {
				t.Errorf("%T%+v is %s, not %s; stderr %q", tt.req, tt.req, reply.Status, tt.status, m.stderr)
			} else if tt.status == guest.FileFailed && m.stderr == "" {
				t.Errorf("%T%+v failed without a word", tt.req, tt.req)
			}
		}
		m.noStages(t)
	})
}

func TestFileMkdirAndRemove(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		dir := m.root + "/a/-b/" + oddName
		for range 2 {
			m.want(t, &guest.FileMkdir{Path: dir, Mode: 0o1750}, guest.FileOK)
		}
		for path, want := range map[string]os.FileMode{dir: os.ModeDir | os.ModeSticky | 0o750, m.root + "/a": os.ModeDir | 0o750} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%q is %v, not %v; %v", path, info.Mode(), want, err)
			}
		}
		m.want(t, &guest.FileMkdir{Path: dir, Mode: 0o700}, guest.FileOK)
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("a directory that was there is changed: %v, %v", info.Mode(), err)
		}
		putFile(t, m.root+"/kept/f", "x", 0o644)
		putLink(t, m.root+"/kept", m.root+"/link")
		putFile(t, m.root+"/a/read-only", "x", 0o444)
		for _, req := range []*guest.FileRemove{
			{Path: m.root + "/link"}, {Path: m.root + "/a/read-only"}, {Path: dir}, {Path: m.root + "/a", All: true},
		} {
			m.want(t, req, guest.FileOK)
			if _, err := os.Lstat(req.Path); err == nil {
				t.Errorf("%q is still there", req.Path)
			}
		}
		putLink(t, m.root+"/kept", m.root+"/link")
		m.want(t, &guest.FileRemove{Path: m.root + "/link", All: true}, guest.FileOK)
		if getFile(t, m.root+"/kept/f") != "x" {
			t.Error("the target of a link is gone")
		}
	})
}

func TestFileBase(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		old, young := m.stage(t, "x").Path, m.stage(t, "y").Path
		if err := os.Chtimes(old, time.Time{}, time.Now().Add(-49*time.Hour)); err != nil {
			t.Fatal(err)
		}
		reply := m.want(t, &guest.FileBase{Bases: []string{"/proc/no", m.base}}, guest.FileOK)
		if !slices.Equal(reply.Fields, []string{m.base}) {
			t.Errorf("base is %q", reply.Fields)
		}
		if _, err := os.Stat(old); err == nil {
			t.Error("a stage of two days ago is left")
		}
		if info, err := os.Stat(guest.StageDir(m.base)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the stage directory is %v, %v", info.Mode(), err)
		}
		m.want(t, &guest.FileDrop{Prefix: young[:len(young)-1]}, guest.FileOK)
		m.noStages(t)
	})
}

// TestFileDropLate: what is written after the removal of a stage, by a request that nobody waits for any more, goes too.
func TestFileDropLate(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		stage := m.stage(t, "late").Path
		m.want(t, &guest.FileDrop{Prefix: stage, Late: true}, guest.FileOK)
		if err := os.WriteFile(stage, []byte("late"), 0o600); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
			if _, err := os.Stat(stage); err != nil {
				return
			}
			if time.Now().After(end) {
				t.Fatal("what was written late is still there")
			}
		}
	})
}
