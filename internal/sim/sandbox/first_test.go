package sandbox_test

import (
	"bytes"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

func TestRunsACommand(t *testing.T) {
	g := simtest.Sandbox(t)
	m, err := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Name: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Kill()
	var out bytes.Buffer
	p, err := m.Start(t.Context(), &sim.Command{Argv: []string{"sh", "-c", "hostname; cat"}, Stdout: &out, Stdin: bytes.NewReader([]byte("hey\n"))})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if got, want := out.String(), "hello\nhey\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
