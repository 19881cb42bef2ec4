//go:build linux

package sandbox_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// machine is a machine of a test, which ends with it.
type machine struct {
	sim.Instance
	t   testing.TB
	dir string
}

// sandboxGuest returns the guest that the tests share, unless machines cannot be made here.
func sandboxGuest(t testing.TB) sim.Guest {
	t.Helper()
	return simtest.Sandbox(t)
}

// boot boots a machine as b says, in a directory of its own if b names none.
func boot(t testing.TB, b sim.Boot) *machine {
	t.Helper()
	g := sandboxGuest(t)
	if b.Dir == "" {
		b.Dir = filepath.Join(t.TempDir(), "m")
	}
	if b.Name == "" {
		b.Name = "test"
	}
	m, err := g.Boot(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Kill(); err != nil {
			t.Error(err)
		}
		if err := g.Remove(b.Dir); err != nil {
			t.Error(err)
		}
	})
	return &machine{Instance: m, t: t, dir: b.Dir}
}

// result is how a command ended.
type result struct {
	Stdout, Stderr string
	Code           int
}

// run runs a command to its end.
func (m *machine) run(c *sim.Command) result {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if c.TTY {
		c.Stderr = nil
	}
	p := m.start(c)
	code, err := p.Wait()
	if err != nil {
		m.t.Fatalf("%q: %v", c.Argv, err)
	}
	return result{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}
}

func (m *machine) start(c *sim.Command) sim.Process {
	m.t.Helper()
	p, err := m.Start(m.t.Context(), c)
	if err != nil {
		m.t.Fatalf("%q: %v", c.Argv, err)
	}
	return p
}

// shell runs a script, which must succeed, and returns its output without the last newline.
func (m *machine) shell(script string) string {
	m.t.Helper()
	r := m.run(&sim.Command{Argv: []string{"/bin/sh", "-c", script}})
	if r.Code != 0 {
		m.t.Fatalf("%s: exit code %d, stderr %q", script, r.Code, r.Stderr)
	}
	return strings.TrimSuffix(r.Stdout, "\n")
}

// write writes a file in the machine.
func (m *machine) write(path, text string) {
	m.t.Helper()
	if _, err := m.WriteFile(path, strings.NewReader(text)); err != nil {
		m.t.Fatal(err)
	}
}

// read reads a file of the machine.
func (m *machine) read(path string) string {
	m.t.Helper()
	f, _, err := m.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

// eventually waits for a condition that comes true by itself.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited for nothing: %s", what)
		}
	}
}

// ended reports whether the machine says that it has ended.
func ended(m sim.Instance) bool {
	select {
	case <-m.Done():
		return true
	default:
		return false
	}
}

// syncBuffer is a buffer that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
