package sandbox_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// BenchmarkBoot is a machine made in an empty directory and killed again.
func BenchmarkBoot(b *testing.B) {
	g := simtest.Sandbox(b)
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		m, err := g.Boot(b.Context(), &sim.Boot{Dir: filepath.Join(dir, strconv.Itoa(n)), Name: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Kill(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExec is /bin/true, started and waited for.
func BenchmarkExec(b *testing.B) {
	m, err := simtest.Sandbox(b).Boot(b.Context(), &sim.Boot{Dir: b.TempDir(), Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Kill()
	for b.Loop() {
		p, err := m.Start(b.Context(), &sim.Command{Argv: []string{"/bin/true"}})
		if err != nil {
			b.Fatal(err)
		}
		if code, err := p.Wait(); code != 0 || err != nil {
			b.Fatal(code, err)
		}
	}
}
