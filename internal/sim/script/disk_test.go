package script_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// do carries out an operation on files in the machine.
func do(t *testing.T, in sim.Instance, op guest.FileRequest) *guest.FileReply {
	t.Helper()
	out, _, _ := exec(t, in, &sim.Command{Argv: op.Argv()})
	reply, err := guest.ParseFileReply([]byte(out))
	if err != nil {
		t.Fatalf("%T: %v", op, err)
	}
	return reply
}

// TestCommitIntoMount moves an upload into a directory of the host, which is another file system.
func TestCommitIntoMount(t *testing.T) {
	rw, ro := t.TempDir(), t.TempDir()
	in := boot(t, script.New(nil), &sim.Boot{Name: "m", Mounts: []sim.Mount{
		{Source: rw, Target: "/data"}, {Source: ro, Target: "/ro", ReadOnly: true},
	}})
	do(t, in, &guest.FileBase{Bases: bases})
	stage := guest.StageDir(guest.BaseWorkspace) + "/s"
	commit := func(path string) guest.FileStatus {
		if _, err := in.WriteFile(stage, strings.NewReader("bytes")); err != nil {
			t.Fatal(err)
		}
		return do(t, in, &guest.FileCommit{Path: path, Mode: 0o600, Pieces: []guest.FilePiece{{Path: stage, Size: 5}}}).Status
	}
	if s := commit("/data/sub/f"); s != guest.FileOK {
		t.Errorf("status %s", s)
	}
	if got, err := os.ReadFile(filepath.Join(rw, "sub", "f")); string(got) != "bytes" || err != nil {
		t.Errorf("the host has %q, %v", got, err)
	}
	if s := commit("/ro/f"); s != guest.FileDenied {
		t.Errorf("into a read-only mount: %s", s)
	}
	if exists(in, stage) {
		t.Error("the stage is left")
	}
	for dir, want := range map[string]int{rw: 1, ro: 0} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s: %v, %v", dir, entries, err)
		}
	}
}

// TestIdentity tells a file that grew from one that was replaced.
func TestIdentity(t *testing.T) {
	in := boot(t, script.New(nil), nil)
	identity := func() string {
		reply := do(t, in, &guest.FileCut{Path: "/f", Length: -1, Inline: 100})
		c, err := reply.Cut()
		if err != nil {
			t.Fatal(err)
		}
		return c.Identity
	}
	if _, err := in.WriteFile("/f", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	first := identity()
	do(t, in, &guest.FileAppend{Stage: "/f", Data: []byte("more")})
	if id := identity(); id != first {
		t.Errorf("a file that grew is another one: %s, %s", first, id)
	}
	if _, err := in.WriteFile("/f", strings.NewReader("y")); err != nil {
		t.Fatal(err)
	}
	if id := identity(); id == first {
		t.Errorf("a file that was replaced is the same: %s", id)
	}
}

// TestCopyKeeps looks at modes, times and links in a copy of a disk.
func TestCopyKeeps(t *testing.T) {
	g, host := script.New(nil), t.TempDir()
	src, dst := filepath.Join(host, "src"), filepath.Join(host, "dst")
	in := boot(t, g, &sim.Boot{Dir: src, Name: "m"})
	if _, err := in.WriteFile("/d/f", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	root := filepath.Join(src, "root")
	for _, err := range []error{
		os.Chmod(filepath.Join(root, "d", "f"), 0o640), os.Chtimes(filepath.Join(root, "d", "f"), old, old), os.Chmod(filepath.Join(root, "d"), 0o750),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" { // making links needs a right there
		if err := os.Symlink("/nowhere", filepath.Join(root, "l")); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Copy(t.Context(), dst, src); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(dst, "root", "d", "f"))
	if err != nil || !fi.ModTime().Equal(old) {
		t.Fatalf("%v, %v", fi, err)
	}
	if runtime.GOOS == "windows" {
		return // the rest means nothing there
	}
	di, err := os.Stat(filepath.Join(dst, "root", "d"))
	if err != nil {
		t.Fatal(err)
	}
	link, err := os.Readlink(filepath.Join(dst, "root", "l"))
	if diff := cmp.Diff([]any{os.FileMode(0o640), os.ModeDir | 0o750, "/nowhere", error(nil)}, []any{fi.Mode(), di.Mode(), link, err}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := g.Copy(t.Context(), dst, src); err == nil {
		t.Error("a copy over one that is there was made")
	}
}

// TestCopyCancelled leaves nothing behind.
func TestCopyCancelled(t *testing.T) {
	g, host := script.New(nil), t.TempDir()
	src, dst := filepath.Join(host, "src"), filepath.Join(host, "dst")
	boot(t, g, &sim.Boot{Dir: src, Name: "m"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Copy(ctx, dst, src); !errors.Is(err, context.Canceled) {
		t.Errorf("a copy whose context has ended: %v", err)
	}
	if _, err := os.Stat(dst); !os.IsNotExist(err) {
		t.Errorf("half a copy is left: %v", err)
	}
}

func TestTerminal(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	p, out := launch(t, in, &sim.Command{Argv: []string{"late"}, TTY: true, Rows: 24, Cols: 80}, "not found")
	if err := p.Resize(10, 10); err != nil {
		t.Error(err)
	}
	if code, err := p.Wait(); code != 127 || err != nil || out.String() != "hm\nsh: late: not found\n" {
		t.Errorf("%d, %v, %q", code, err, out)
	}
	if p.PID() <= 1 || in.PID() != 0 {
		t.Errorf("process %d in machine %d", p.PID(), in.PID())
	}
	if text := in.Console(); !strings.HasSuffix(text, "\n") || !strings.Contains(text, "pure Go") {
		t.Errorf("console %q", text)
	}
}

// TestBigOutput passes more through a job than a pipe holds, and reads the middle of it.
func TestBigOutput(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	const size = 3 << 20
	if _, err := in.WriteFile("/in", io.LimitReader(zeros{}, size)); err != nil {
		t.Fatal(err)
	}
	r := startJob(t, in, &guest.Start{ID: "big", Argv: []string{"cat"}, Stdin: "/in", View: guest.View{Wait: 20 * time.Second, Budget: 30, Clip: true}})
	if r.State != guest.Exited || r.StdoutSize != size || r.Stdout.Head != 20 || r.Stdout.Dropped != size-30 {
		t.Errorf("%+v", r)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
