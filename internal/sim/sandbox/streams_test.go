//go:build linux

package sandbox_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

// A MiB of every byte goes through all three streams unchanged, through pipes and through files.
func TestStreamsAreExact(t *testing.T) {
	m := boot(t, sim.Boot{})
	want := make([]byte, 1<<20)
	rand.Read(want)
	argv := []string{"sh", "-c", "tee /dev/stderr"}

	var stdout, stderr bytes.Buffer
	p := m.start(&sim.Command{Argv: argv, Stdin: bytes.NewReader(want), Stdout: &stdout, Stderr: &stderr, WaitOutput: -1})
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if !bytes.Equal(stdout.Bytes(), want) || !bytes.Equal(stderr.Bytes(), want) {
		t.Errorf("pipes: %d and %d bytes came back, or others", stdout.Len(), stderr.Len())
	}

	dir := t.TempDir()
	files := make([]*os.File, 3)
	for i, name := range []string{"in", "out", "err"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if err := os.WriteFile(files[0].Name(), want, 0o600); err != nil {
		t.Fatal(err)
	}
	// cat and not tee: /dev/stderr would be opened anew, and the machine may not open files of the host.
	p = m.start(&sim.Command{Argv: []string{"sh", "-c", "cat; echo done >&2"}, Stdin: files[0], Stdout: files[1], Stderr: files[2]})
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	got, err := os.ReadFile(files[1].Name())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("files: %d bytes, %v", len(got), err)
	}
	if got, err := os.ReadFile(files[2].Name()); string(got) != "done\n" || err != nil {
		t.Errorf("stderr in a file: %q, %v", got, err)
	}
}

func TestOneWriterForBothStreams(t *testing.T) {
	m := boot(t, sim.Boot{})
	var both bytes.Buffer // not safe for two goroutines: the race detector is part of this test
	p := m.start(&sim.Command{Argv: []string{"sh", "-c", "for i in 1 2 3; do echo o; echo e >&2; done"}, Stdout: &both, Stderr: &both, WaitOutput: -1})
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if both.String() != "o\ne\no\ne\no\ne\n" {
		t.Errorf("in order: %q", both.String())
	}
}

// What a command leaves behind may hold its output open.
func TestWaitOutput(t *testing.T) {
	m := boot(t, sim.Boot{})
	script := "sleep 1000 & echo said"
	for _, limit := range []time.Duration{0, 50 * time.Millisecond} {
		var out bytes.Buffer
		p := m.start(&sim.Command{Argv: []string{"sh", "-c", script}, Stdout: &out, WaitOutput: limit})
		if code, err := p.Wait(); code != 0 || err != nil {
			t.Fatal(code, err)
		}
		if out.String() != "said\n" {
			t.Errorf("limit %v: output %q", limit, out.String())
		}
	}

	var out bytes.Buffer
	p := m.start(&sim.Command{Argv: []string{"sh", "-c", script}, Stdout: &out, WaitOutput: -1})
	waited := make(chan error, 1)
	go func() {
		_, err := p.Wait()
		waited <- err
	}()
	eventually(t, "the shell has ended", func() bool { return m.shell("pgrep -xc sh || true") <= "1" })
	select {
	case <-waited:
		t.Error("a wait without limit returned although the output is held open")
	default:
	}
	m.shell("pkill sleep")
	if err := <-waited; err != nil || out.String() != "said\n" {
		t.Errorf("output %q, %v", out.String(), err)
	}
}

// What was written before the command ended is delivered whole, also when nobody is waited for and the reader is slow.
func TestOutputIsWholeWithoutWaiting(t *testing.T) {
	m := boot(t, sim.Boot{})
	out := &slowWriter{}
	p := m.start(&sim.Command{Argv: []string{"sh", "-c", "sleep 1000 & head -c 300000 /dev/zero"}, Stdout: out})
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if out.n != 300000 {
		t.Errorf("%d bytes of 300000", out.n)
	}
}

// slowWriter takes little at a time and lets others run in between.
type slowWriter struct{ n int }

func (w *slowWriter) Write(b []byte) (int, error) {
	for range b {
		w.n++
	}
	<-time.After(time.Millisecond)
	return len(b), nil
}

func TestWriterFails(t *testing.T) {
	m := boot(t, sim.Boot{})
	p := m.start(&sim.Command{Argv: []string{"yes"}, Stdout: failingWriter{}, WaitOutput: -1})
	code, err := p.Wait()
	if code != 128+int(syscall.SIGPIPE) || !errors.Is(err, errFull) {
		t.Errorf("exit %d, %v", code, err)
	}
}

var errFull = errors.New("full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

// A command that has ended is not held up by a reader that has nothing to say.
func TestWaitDoesNotWaitForStdin(t *testing.T) {
	m := boot(t, sim.Boot{})
	r, w := io.Pipe()
	defer w.Close()
	p := m.start(&sim.Command{Argv: []string{"true"}, Stdin: r})
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Error(code, err)
	}
}

func TestClosedFileIsRefused(t *testing.T) {
	m := boot(t, sim.Boot{})
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := m.Start(t.Context(), &sim.Command{Argv: []string{"true"}, Stdin: f}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file as stdin: %v", err)
	}
	if _, err := m.Start(t.Context(), &sim.Command{Argv: []string{"true"}, Stdout: (*os.File)(nil)}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("no file as stdout: %v", err)
	}
}

func TestTerminal(t *testing.T) {
	m := boot(t, sim.Boot{})
	tty := func(script string, stdin io.Reader) *sim.Command {
		return &sim.Command{Argv: []string{"sh", "-c", script}, TTY: true, Rows: 33, Cols: 101, Stdin: stdin, WaitOutput: -1}
	}
	if got := m.run(tty("test -t 0 && test -t 1 && test -t 2 && stty size", nil)); got.Code != 0 || got.Stdout != "33 101\r\n" {
		t.Errorf("size of the terminal: %+v", got)
	}
	if got := m.run(tty("stty -echo; read line; echo got $line; tty", strings.NewReader("a line\n"))); !strings.Contains(got.Stdout, "got a line\r\n/dev/pts/") {
		t.Errorf("input: %+v", got)
	}
	if got := m.run(&sim.Command{Argv: []string{"stty", "size"}, TTY: true}); got.Stdout != "24 80\r\n" {
		t.Errorf("default size: %+v", got)
	}
	if got := m.run(tty("exit 9", nil)); got.Code != 9 {
		t.Errorf("exit code: %+v", got)
	}
	if got := m.run(tty("cat", strings.NewReader("x\n\x04"))); got.Code != 0 {
		t.Errorf("end of input: %+v", got)
	}
}

func TestResize(t *testing.T) {
	m := boot(t, sim.Boot{})
	r, w := io.Pipe()
	var out syncBuffer
	p := m.start(&sim.Command{
		Argv: []string{"sh", "-c", "stty -echo; trap 'stty size' WINCH; echo ready; while read x; do :; done"},
		TTY:  true, Stdin: r, Stdout: &out, WaitOutput: -1,
	})
	eventually(t, "ready", func() bool { return strings.Contains(out.String(), "ready") })
	if err := p.Resize(50, 132); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new size", func() bool {
		io.WriteString(w, "\n") // the shell runs its trap when it is between two commands
		return strings.Contains(out.String(), "50 132")
	})
	io.WriteString(w, "\x04")
	w.Close()
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Error(code, err)
	}
	if err := m.start(&sim.Command{Argv: []string{"true"}}).Resize(1, 1); !errors.Is(err, syscall.ENOTTY) {
		t.Errorf("resize without a terminal: %v", err)
	}
}
