package smol_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
)

func TestStat(t *testing.T) {
	uid, gid := otherOwner()
	onImages(t, func(t *testing.T, m *fileMachine) {
		m.sh(`cd /root; printf 12345 >f; chown "$2" f; chmod 4751 f; touch -d '2001-02-03 04:05:06' f; ln -s f link; ln -s nowhere dangling
			mkdir -m 1750 d; mkfifo -m 600 pipe; mkdir "$1"`, "odd'\n ", fmt.Sprintf("%d:%d", uid, gid))
		when := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		type facts struct {
			Name, Link string
			Mode       fs.FileMode
			UID, GID   int
			Size       int64
		}
		regular := facts{"f", "", fs.ModeSetuid | 0o751, uid, gid, 5}
		tests := []struct {
			path   string
			follow bool
			want   facts
			err    error
		}{
			{"/root/f", true, regular, nil},
			{"/root/link", true, facts{"link", "", regular.Mode, uid, gid, 5}, nil},
			{"/root/link", false, facts{"link", "f", fs.ModeSymlink | 0o777, 0, 0, 1}, nil},
			{"/root/dangling", false, facts{"dangling", "nowhere", fs.ModeSymlink | 0o777, 0, 0, 7}, nil},
			{"/root/dangling", true, facts{}, fs.ErrNotExist},
			{"/root/d", true, facts{"d", "", fs.ModeDir | fs.ModeSticky | 0o750, 0, 0, -1}, nil},
			{"/root/odd'\n ", true, facts{"odd'\n ", "", fs.ModeDir | 0o755, 0, 0, -1}, nil},
			{"/root/pipe", true, facts{"pipe", "", fs.ModeNamedPipe | 0o600, 0, 0, 0}, nil},
			{"/dev/null", true, facts{"null", "", fs.ModeDevice | fs.ModeCharDevice | 0o666, -1, -1, 0}, nil},
			{"/", true, facts{"/", "", fs.ModeDir | 0o755, 0, 0, -1}, nil},
			{"/root/no", true, facts{}, fs.ErrNotExist},
			{"/root/f/no", true, facts{}, smol.ErrInvalid},
		}
		for _, tt := range tests {
			stat := m.Lstat
			if tt.follow {
				stat = m.Stat
			}
			info, err := stat(t.Context(), tt.path)
			if !errors.Is(err, tt.err) {
				t.Errorf("%s: %v, not %v", tt.path, err, tt.err)
			}
			if err != nil {
				continue
			}
			got := facts{info.Name(), info.Link, info.Mode(), info.UID, info.GID, info.Size()}
			if tt.want.Size < 0 {
				got.Size = -1
			}
			if tt.want.UID < 0 {
				got.UID, got.GID = -1, -1 // the host's root is nobody in the machine
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || info.Path != tt.path || info.IsDir() != tt.want.Mode.IsDir() || info.Sys() != nil {
				t.Errorf("%s: %+v (-want +got):\n%s", tt.path, info, diff)
			}
			if info.Name() == "f" && !info.ModTime().Equal(when) {
				t.Errorf("changed at %v, not %v", info.ModTime(), when)
			}
		}
	})
}

func TestReadDir(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		// printf makes the names that no argument can carry.
		m.sh(`mkdir /root/d /root/empty; cd /root/d; : >plain; : >' '; : >-rf; : >'*'; : >.hidden; : >..two; mkdir dir; ln -s ../no link
			: >"$(printf 'new\nline')"; : >"$(printf '\377\376')"; ln -s d /root/to-d; : >/root/file`)
		want := []string{" ", "*", "-rf", "..two", ".hidden", "dir", "link", "new\nline", "plain", "\xff\xfe"}
		slices.Sort(want)
		for _, dir := range []string{"/root/d", "/root/to-d"} {
			var infos []*smol.FileInfo
			n := m.count(func() {
				var err error
				if infos, err = m.ReadDir(t.Context(), dir); err != nil {
					t.Fatal(err)
				}
			})
			if n != (trips{1, 0, 0}) {
				t.Errorf("%+v", n)
			}
			var got []string
			for _, i := range infos {
				got = append(got, i.Name())
				if i.Path != dir+"/"+i.Name() || i.IsDir() != (i.Name() == "dir") || (i.Link != "") != (i.Name() == "link") {
					t.Errorf("%+v", i)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", dir, diff)
			}
		}
		if infos, err := m.ReadDir(t.Context(), "/root/empty"); err != nil || infos == nil || len(infos) > 0 {
			t.Errorf("an empty directory has %v, %v", infos, err)
		}
		for path, want := range map[string]error{"/root/no": fs.ErrNotExist, "/root/file": smol.ErrInvalid, "/root/file/x": smol.ErrInvalid} {
			if infos, err := m.ReadDir(t.Context(), path); !errors.Is(err, want) || infos != nil {
				t.Errorf("%s: %v, %v", path, infos, err)
			}
		}
		// A name that is no text is shown and cannot be used.
		if _, err := m.Stat(t.Context(), "/root/d/\xff\xfe"); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}

// A directory of 10,000 entries is one command.
func TestReadDirMany(t *testing.T) {
	m := newFileMachine(t, smol.Spec{Image: "busybox"}, nil)
	entries := min(rounds.N(3000), 10_000)
	m.sh(`mkdir /root/d; cd /root/d; i=10000; while [ $i -lt $1 ]; do : >entry-$i; i=$((i+1)); done`, fmt.Sprint(10_000+entries))
	n := m.count(func() {
		infos, err := m.ReadDir(t.Context(), "/root/d")
		if err != nil || len(infos) != entries {
			t.Fatalf("%d entries, %v", len(infos), err)
		}
		for i, info := range infos {
			if want := fmt.Sprint("entry-", 10_000+i); info.Name() != want {
				t.Fatalf("entry %d is %q, not %q", i, info.Name(), want)
			}
		}
	})
	if n != (trips{1, 0, 0}) {
		t.Errorf("%+v", n)
	}
}

// A listing that does not fit into a command's output goes through a file.
func TestReadDirLong(t *testing.T) {
	m := newFileMachine(t, smol.Spec{}, nil)
	m.base(t)
	tree := fstest.MapFS{}
	target := strings.Repeat("long/", 800)
	const entries = 1_100
	for i := range entries {
		tree[fmt.Sprintf("entry-%05d", i)] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}
	}
	if err := m.CopyFS(t.Context(), "/root/d", tree, nil); err != nil {
		t.Fatal(err)
	}
	n := m.count(func() {
		infos, err := m.ReadDir(t.Context(), "/root/d")
		if err != nil || len(infos) != entries {
			t.Fatalf("%d entries, %v", len(infos), err)
		}
		for i, info := range infos {
			if want := fmt.Sprintf("entry-%05d", i); info.Name() != want || info.Link != target {
				t.Fatalf("entry %d is %q with a link of %d bytes", i, info.Name(), len(info.Link))
			}
		}
	})
	if n != (trips{3, 0, 1}) {
		t.Errorf("%+v", n)
	}
	m.wantNoStage()
}

func TestMkdirAllAndRemove(t *testing.T) {
	onImages(t, func(t *testing.T, m *fileMachine) {
		ctx := t.Context()
		deep := oddPath + "/a/b"
		for _, opts := range []*smol.MkdirOptions{{Mode: fs.ModeSticky | 0o750}, nil} {
			if err := m.MkdirAll(ctx, deep, opts); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.MkdirAll(ctx, "/root/plain/x", nil); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{
			deep: fs.ModeSticky | 0o750, oddPath: 0o750, "/root/plain": 0o755, "/root/plain/x": 0o755,
		} {
			if info, err := m.Stat(ctx, name); err != nil || info.Mode() != want|fs.ModeDir {
				t.Errorf("%q: %v, not %v; %v", name, info.Mode(), want, err)
			}
		}
		m.sh(`: >/root/file; ln -s plain /root/link; ln -s no /root/dangling; chmod 555 /root/plain`)
		recursive := &smol.RemoveOptions{Recursive: true}
		tests := []struct {
			call string
			err  error
			want error
		}{
			{"mkdir on a file", m.MkdirAll(ctx, "/root/file", nil), smol.ErrInvalid},
			{"mkdir below a file", m.MkdirAll(ctx, "/root/file/x", nil), smol.ErrInvalid},
			{"mkdir on a dangling link", m.MkdirAll(ctx, "/root/dangling", nil), smol.ErrInvalid},
			{"mkdir /", m.MkdirAll(ctx, "/", nil), nil},
			{"remove nothing", m.Remove(ctx, "/root/no", nil), fs.ErrNotExist},
			{"remove below a file", m.Remove(ctx, "/root/file/x", nil), smol.ErrInvalid},
			{"remove a full directory", m.Remove(ctx, "/root/plain", nil), smol.ErrConflict},
			{"remove a full directory, as os does", m.Remove(ctx, "/root/plain", nil), fs.ErrExist},
			{"remove a link", m.Remove(ctx, "/root/link", nil), nil},
			{"remove a dangling link", m.Remove(ctx, "/root/dangling", nil), nil},
			{"remove a file", m.Remove(ctx, "/root/file", nil), nil},
			{"remove an empty directory", m.Remove(ctx, "/root/plain/x", nil), nil},
			{"remove all of nothing", m.Remove(ctx, "/root/no", recursive), nil},
			{"remove all", m.Remove(ctx, path.Dir(oddPath), recursive), nil},
			{"remove all of a directory", m.Remove(ctx, "/root/plain", recursive), nil},
		}
		for _, tt := range tests {
			if !errors.Is(tt.err, tt.want) {
				t.Errorf("%s: %v, not %v", tt.call, tt.err, tt.want)
			}
		}
		if left := m.sh("ls -A /root"); left != "" {
			t.Errorf("left: %q", left)
		}
	})
}

// An operation on a file of a machine that does not exist is not about a missing file.
func TestFilesOfAMissingMachine(t *testing.T) {
	f, m := newFakeMachine()
	f.mu.Lock()
	f.machines = map[string]*fakeMachine{}
	f.mu.Unlock()
	_, readErr := m.ReadFile(t.Context(), "/f")
	_, statErr := m.Stat(t.Context(), "/f")
	for name, err := range map[string]error{
		"read": readErr, "stat": statErr, "write": m.WriteFile(t.Context(), "/f", nil, nil),
	} {
		if !errors.Is(err, smol.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
