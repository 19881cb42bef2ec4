//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

func TestFiles(t *testing.T) {
	m := boot(t, sim.Boot{})
	big := make([]byte, 3<<20)
	rand.Read(big)
	for name, content := range map[string]string{
		"/root/a":             "text",
		"relative":            "in the root",
		"/made/up/by/write/f": "parents",
		"//workspace//./b c":  "a blank",
		"/tmp/empty":          "",
		"/tmp/\xff\x01name":   "not text",
		"/tmp/big":            string(big),
	} {
		if n, err := m.WriteFile(name, strings.NewReader(content)); err != nil || n != int64(len(content)) {
			t.Errorf("write %q: %d bytes, %v", name, n, err)
			continue
		}
		if got := m.read(name); got != content {
			t.Errorf("%q: got %.20q of %d bytes, want %.20q", name, got, len(got), content)
		}
	}
	if got := m.shell("stat -c '%a %u %g' /root/a /made/up/by/write /relative"); got != "644 0 0\n755 0 0\n644 0 0" {
		t.Errorf("modes and owners: %q", got)
	}
	_, fi, err := m.ReadFile("/root/a")
	if err != nil || fi.Size() != 4 || fi.Name() != "a" || fi.Mode() != 0o644 || time.Since(fi.ModTime()) > time.Hour {
		t.Errorf("info %v, %v", fi, err)
	}
}

func TestReadRefused(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.shell("mkfifo /tmp/fifo; mkdir /tmp/dir; ln -s /tmp/fifo /tmp/link; ln -s loop /tmp/loop; ln -s /etc/hosts /tmp/fine")
	for _, row := range []struct {
		path string
		want error
	}{
		{"/nothing", fs.ErrNotExist},
		{"/etc/hosts/x", syscall.ENOTDIR},
		{"", fs.ErrNotExist},
		{"/tmp/fifo", sim.ErrNotRegular},
		{"/tmp/link", sim.ErrNotRegular},
		{"/tmp/dir", sim.ErrNotRegular},
		{"/dev/null", sim.ErrNotRegular},
		{"/", sim.ErrNotRegular},
		{"/tmp/loop", syscall.ELOOP},
		{"/tmp/../etc/hosts", syscall.EINVAL},
		{"/tmp/a\x00b", syscall.EINVAL},
		{"/" + strings.Repeat("x", 300), syscall.ENAMETOOLONG},
	} {
		f, _, err := m.ReadFile(row.path)
		if !errors.Is(err, row.want) {
			t.Errorf("read %.20q: %v, want %v", row.path, err, row.want)
		}
		var p *fs.PathError
		if err == nil {
			f.Close()
		} else if !errors.As(err, &p) {
			t.Errorf("read %.20q: %T does not name the path", row.path, err)
		}
	}
	if got := m.read("/tmp/fine"); !strings.Contains(got, "localhost") {
		t.Errorf("through a link: %q", got)
	}
}

func TestWriteRefused(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.shell("mkdir /tmp/dir; echo file >/tmp/file; echo secret >/root/kept; ln -s /root/kept /tmp/link")
	for _, row := range []struct {
		path string
		want error
	}{
		{"", fs.ErrNotExist},
		{"/", syscall.EISDIR},
		{"/tmp/dir", syscall.EISDIR},
		{"/tmp/new/", syscall.EISDIR},
		{"/tmp/file/x", syscall.ENOTDIR},
		{"/usr/x", syscall.EROFS},
		{"../x", syscall.EINVAL},
		{"/tmp/../x", syscall.EINVAL},
		{"/tmp/..", syscall.EINVAL},
		{"/tmp/a\x00b", syscall.EINVAL},
		{"/tmp/" + strings.Repeat("x", 300), syscall.ENAMETOOLONG},
	} {
		if _, err := m.WriteFile(row.path, strings.NewReader("x")); !errors.Is(err, row.want) {
			t.Errorf("write %.20q: %v, want %v", row.path, err, row.want)
		}
	}
	m.write("/tmp/link", "new") // takes the place of the link, as a rename does
	if got := m.read("/root/kept") + m.read("/tmp/link"); got != "secret\nnew" {
		t.Errorf("after writing over a link: %q", got)
	}
	if got := m.shell("ls -A /tmp"); got != "dir\nfile\nlink" {
		t.Errorf("left behind: %q", got)
	}
}

// A file is the old one or the new one, and nothing is left of a write that fails.
func TestWriteIsAtomic(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.write("/srv/f", "old")
	broken := errors.New("broken")
	half := &observedReader{
		Reader: io.MultiReader(strings.NewReader("new, but "), iotest.ErrReader(broken)),
		seen:   func() { assertFile(t, m, "old") },
	}
	if n, err := m.WriteFile("/srv/f", half); !errors.Is(err, broken) || n != 9 {
		t.Errorf("%d bytes, %v", n, err)
	}
	assertFile(t, m, "old")
	eventually(t, "nothing else is left", func() bool { return m.shell("ls -A /srv") == "f" })

	whole := &observedReader{Reader: strings.NewReader("new"), seen: func() { assertFile(t, m, "old") }}
	if _, err := m.WriteFile("/srv/f", whole); err != nil {
		t.Fatal(err)
	}
	assertFile(t, m, "new")
	if got := m.shell("ls -A /srv"); got != "f" {
		t.Errorf("left behind: %q", got)
	}
}

// TestWriteOfAMachineThatDies: the error says so, and the next boot finds the old file.
func TestWriteOfAMachineThatDies(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.write("/srv/f", "old")
	dying := &observedReader{Reader: strings.NewReader("new"), seen: func() { m.Kill() }}
	if _, err := m.WriteFile("/srv/f", dying); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("%v", err)
	}
	assertFile(t, boot(t, sim.Boot{Dir: m.dir}), "old")
}

func assertFile(t *testing.T, m *machine, want string) {
	t.Helper()
	if got := m.read("/srv/f"); got != want {
		t.Errorf("file %q, want %q", got, want)
	}
}

// observedReader calls seen before each read.
type observedReader struct {
	io.Reader
	seen func()
}

func (r *observedReader) Read(b []byte) (int, error) {
	r.seen()
	return r.Reader.Read(b)
}

func TestDial(t *testing.T) {
	m := boot(t, sim.Boot{Image: "busybox"})
	server := m.start(&sim.Command{Argv: []string{"nc", "-l", "-p", "8080", "-e", "cat"}})
	var conn io.ReadWriteCloser
	eventually(t, "the server listens", func() bool {
		c, err := m.Dial(t.Context(), 8080)
		if err == nil {
			conn = c
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		return err == nil
	})
	defer conn.Close()
	want := bytes.Repeat([]byte("echo"), 100_000)
	go conn.Write(want)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, or others: %v", len(got), err)
	}
	conn.Close()
	if _, err := server.Wait(); err != nil {
		t.Error(err)
	}

	if _, err := m.Dial(t.Context(), 9999); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a port that nobody listens on: %v", err)
	}
	for _, port := range []int{-1, 0, 65536} {
		if _, err := m.Dial(t.Context(), port); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("port %d: %v", port, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Dial(cancelled, 8080); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if r := m.run(&sim.Command{Argv: []string{"nc", "-w", "1", "192.0.2.1", "80"}}); !strings.Contains(r.Stderr, "unreachable") {
		t.Errorf("a way out: %+v", r)
	}
}

func TestFreeze(t *testing.T) {
	g := boot(t, sim.Boot{})
	m := g
	m.start(&sim.Command{Argv: []string{"sh", "-c", "i=0; while :; do echo $((i+=1)) >/tmp/count; done"}})
	eventually(t, "it counts", func() bool { return m.shell("cat /tmp/count 2>/dev/null || true") != "" })
	if err := m.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := m.Freeze(); err != nil {
		t.Errorf("frozen twice: %v", err)
	}
	before := m.read("/tmp/count")
	started := make(chan string)
	go func() { // waits until the machine thaws
		p, err := m.Start(t.Context(), &sim.Command{Argv: []string{"true"}})
		if err == nil {
			_, err = p.Wait()
		}
		started <- fmt.Sprint(err)
	}()
	for range 100 {
		if after := m.read("/tmp/count"); after != before {
			t.Fatalf("a frozen machine counted from %s to %s", before, after)
		}
	}
	select {
	case err := <-started:
		t.Errorf("a frozen machine ran a command: %s", err)
	default:
	}
	if err := m.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := m.Thaw(); err != nil {
		t.Errorf("thawed twice: %v", err)
	}
	if err := <-started; err != "<nil>" {
		t.Errorf("the command that waited: %s", err)
	}
	eventually(t, "it counts again", func() bool { return m.read("/tmp/count") != before })
}

// A frozen machine is killed all the same, and one whose freezer went away thaws.
func TestFreezeEnds(t *testing.T) {
	m := boot(t, sim.Boot{})
	m.start(&sim.Command{Argv: []string{"sleep", "1000"}})
	other, err := sandboxGuest(t).Adopt(t.Context(), m.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	if got := m.shell("echo thawed"); got != "thawed" {
		t.Errorf("after its freezer went away: %q", got)
	}
	if err := m.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := m.Freeze(); err != nil && !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("freeze of a machine that is gone: %v", err)
	}
	if err := m.Thaw(); err != nil && !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("thaw of a machine that is gone: %v", err)
	}
}
