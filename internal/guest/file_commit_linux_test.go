package guest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/rounds"
)

const oddName = " o'd\n$x*/-ü\""

func TestFileCommit(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		old := func(name string) func(*testing.T) string {
			return func(t *testing.T) string {
				putFile(t, filepath.Join(m.root, name), "old", 0o640)
				return name
			}
		}
		tests := []struct {
			name   string
			setUp  func(*testing.T) string // returns the path to write
			mode   int
			status guest.FileStatus
			at     string // where the content must be, if not at the path
			perm   os.FileMode
		}{
			{"new", func(*testing.T) string { return "new" }, -1, guest.FileOK, "", 0o644},
			{"new with mode", func(*testing.T) string { return "mode" }, 0o4750, guest.FileOK, "", os.ModeSetuid | 0o750},
			{"missing parents and oddName names", func(*testing.T) string { return oddName + "/x/" + oddName }, -1, guest.FileOK, "", 0o644},
			{"old keeps its mode", old("old"), -1, guest.FileOK, "", 0o640},
			{"old takes a mode", old("old2"), 0o600, guest.FileOK, "", 0o600},
			{"link", func(t *testing.T) string {
				putFile(t, m.root+"/dir"+oddName+"/target\n", "old", 0o600)
				putLink(t, "dir"+oddName+"/target\n", m.root+"/link")
				return "link"
			}, -1, guest.FileOK, "dir" + oddName + "/target\n", 0o600},
			{"link to nothing", func(t *testing.T) string {
				putLink(t, "elsewhere", m.root+"/dangling")
				return "dangling"
			}, -1, guest.FileOK, "elsewhere", 0o644},
			{"link to itself", func(t *testing.T) string {
				putLink(t, "loop", m.root+"/loop")
				return "loop"
			}, -1, guest.FileLoop, "", 0},
			{"directory", func(t *testing.T) string {
				putDir(t, m.root+"/d")
				return "d"
			}, -1, guest.FileIsDir, "", 0},
			{"parent is a file", func(t *testing.T) string {
				putFile(t, m.root+"/file", "", 0o644)
				return "file/x/y"
			}, -1, guest.FileNotDir, "", 0},
			{"pipe", func(t *testing.T) string {
				if err := syscall.Mkfifo(m.root+"/pipe", 0o644); err != nil {
					t.Fatal(err)
				}
				return "pipe"
			}, -1, guest.FileSpecial, "", 0},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				path := filepath.Join(m.root, tt.setUp(t))
				m.want(t, &guest.FileCommit{Path: path, Mode: tt.mode, Pieces: []guest.FilePiece{m.stage(t, "new")}}, tt.status)
				m.noStages(t)
				if tt.status != guest.FileOK {
					return
				}
				if tt.at != "" {
					path = filepath.Join(m.root, tt.at)
				}
				info, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				if got := info.Mode(); got != tt.perm {
					t.Errorf("mode %v, not %v", got, tt.perm)
				}
				if got := getFile(t, path); got != "new" {
					t.Errorf("content %q", got)
				}
			})
		}
	})
}

func TestFileCommitJoinsPieces(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		a, b, c := m.stage(t, "one "), m.stage(t, ""), m.stage(t, "two ")
		m.want(t, &guest.FileJoin{Pieces: []guest.FilePiece{a, b, c}}, guest.FileOK)
		a.Size += c.Size
		m.want(t, &guest.FileAppend{Stage: a.Path, Data: []byte{0, 0xff, '\n'}}, guest.FileOK)
		a.Size += 3
		path := m.root + "/joined"
		m.want(t, &guest.FileCommit{Path: path, Mode: -1, Pieces: []guest.FilePiece{a, m.stage(t, "three")}}, guest.FileOK)
		if got := getFile(t, path); got != "one two \x00\xff\nthree" {
			t.Errorf("content %q", got)
		}
		m.noStages(t)
	})
}

func TestFileWrongSizeChangesNothing(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		path := m.root + "/f"
		putFile(t, path, "old", 0o644)
		short := m.stage(t, "shor")
		short.Size++
		lost := guest.FilePiece{Path: guest.StageDir(m.base) + "/lost", Size: 4}
		for _, pieces := range [][]guest.FilePiece{{short}, {lost}, {m.stage(t, "good"), lost}, {lost, m.stage(t, "good")}} {
			m.want(t, &guest.FileCommit{Path: path, Mode: -1, Pieces: pieces}, guest.FileWrongSize)
			m.want(t, &guest.FileJoin{Pieces: pieces}, guest.FileWrongSize)
			m.want(t, &guest.FileUntar{Dir: m.root + "/tree", Pieces: pieces}, guest.FileWrongSize)
		}
		if got := getFile(t, path); got != "old" {
			t.Errorf("content %q", got)
		}
		if _, err := os.Stat(m.root + "/tree"); err == nil {
			t.Error("a directory was made")
		}
		m.noStages(t)
	})
}

func TestFileCommitKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away; run the tests as root")
	}
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		path := m.root + "/f"
		putFile(t, path, "old", 0o604)
		if err := os.Chown(path, 1234, 567); err != nil {
			t.Fatal(err)
		}
		m.want(t, &guest.FileCommit{Path: path, Mode: -1, Pieces: []guest.FilePiece{m.stage(t, "new")}}, guest.FileOK)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if st.Uid != 1234 || st.Gid != 567 || info.Mode() != 0o604 {
			t.Errorf("owner %d:%d, mode %v", st.Uid, st.Gid, info.Mode())
		}
	})
}

// An image names another user than root to run commands as, and uploads come from root nevertheless.
func TestFileCommitAsAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user; run the tests as root")
	}
	const user = 65534
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		m.prepare = func(c *exec.Cmd) {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		}
		own, denied := m.root+"/own", m.root+"/denied"
		putDir(t, own)
		putDir(t, denied)
		putFile(t, denied+"/f", "old", 0o666)
		putFile(t, own+"/of-root", "old", 0o666)
		putFile(t, own+"/read-only", "old", 0o444)
		if err := os.Chown(own, user, user); err != nil {
			t.Fatal(err)
		}
		m.base = own + "/base"
		if reply := m.run(t, &guest.FileBase{Bases: []string{denied + "/base", m.base}}); len(reply.Fields) != 1 || reply.Fields[0] != m.base {
			t.Fatalf("base: %+v", reply)
		}
		tests := []struct {
			path   string
			status guest.FileStatus
		}{
			{own + "/new", guest.FileOK},
			{own + "/new", guest.FileOK},
			{own + "/of-root", guest.FileDenied}, // its owner could not be kept
			{own + "/read-only", guest.FileDenied},
			{denied + "/f", guest.FileDenied},
			{denied + "/new", guest.FileDenied},
			{denied + "/a/b", guest.FileDenied},
		}
		for _, tt := range tests {
			m.want(t, &guest.FileCommit{Path: tt.path, Mode: -1, Pieces: []guest.FilePiece{m.stage(t, "new")}}, tt.status)
			m.noStages(t)
		}
		if got := getFile(t, own+"/new"); got != "new" {
			t.Errorf("content %q", got)
		}
		m.want(t, &guest.FileMkdir{Path: denied + "/a/b", Mode: 0o755}, guest.FileDenied)
		m.want(t, &guest.FileRemove{Path: denied + "/f"}, guest.FileDenied)
		putFile(t, denied+"/closed/f", "", 0o600)
		if err := os.Chmod(denied+"/closed", 0o700); err != nil {
			t.Fatal(err)
		}
		m.want(t, &guest.FileList{Dir: denied + "/closed"}, guest.FileDenied)
		m.want(t, &guest.FileStat{Path: denied + "/closed/f"}, guest.FileDenied)
		m.want(t, &guest.FileCut{Path: denied + "/closed/f", Length: -1}, guest.FileDenied)
	})
}

// A reader of the file sees the old content or the new one, whole.
func TestFileCommitIsAtomic(t *testing.T) {
	onFileGuests(t, func(t *testing.T, m *fileGuest) {
		path := m.root + "/f"
		contents := []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20)}
		putFile(t, path, contents[0], 0o644)
		stop := make(chan struct{})
		done := make(chan int)
		go func() {
			for n := 0; ; n++ {
				b, err := os.ReadFile(path)
				if err != nil || string(b) != contents[0] && string(b) != contents[1] {
					t.Errorf("a reader saw %d bytes, %v", len(b), err)
				}
				select {
				case <-stop:
					done <- n
					return
				default:
				}
			}
		}()
		for i := range rounds.N(4) {
			m.want(t, &guest.FileCommit{Path: path, Mode: -1, Pieces: []guest.FilePiece{m.stage(t, contents[i%2])}}, guest.FileOK)
		}
		close(stop)
		if n := <-done; n < 2 {
			t.Errorf("only %d reads", n)
		}
	})
}

func putLink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func putDir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}
