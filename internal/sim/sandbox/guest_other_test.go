//go:build !linux

package sandbox_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

func TestUnsupported(t *testing.T) {
	g := sandbox.New(nil)
	_, boot := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir()})
	for name, err := range map[string]error{
		"Supported": g.Supported(),
		"Boot":      boot,
		"Copy":      g.Copy(t.Context(), "a", "b"),
		"Remove":    g.Remove("a"),
	} {
		if e := (*sandbox.Error)(nil); !errors.As(err, &e) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(err.Error(), runtime.GOOS) || !strings.Contains(e.Remedy, "smoltest.Script") {
			t.Errorf("%s: %v does not say why and what to do", name, err)
		}
	}
	if _, err := g.Adopt(t.Context(), "a"); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("Adopt: %v", err)
	}
}
