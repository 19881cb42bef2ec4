package mcpserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/host"
	sim "github.com/smol-machines/smol-go/internal/sim/local"
	guests "github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// consoles is a server of a local stand-in on whose consoles a test can write.
type consoles struct {
	*server
	t    *testing.T
	host *host.Host
}

func withConsoles(t *testing.T, change func(*mcpserver.Options)) *consoles {
	t.Helper()
	h, err := host.Start(&host.Options{Server: sim.Options{Guest: guests.New(nil)}, TCP: runtime.GOOS == "windows"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	svc, err := local.New(&local.Options{URL: h.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	c := &consoles{t: t, host: h}
	c.server = serve(t, func(o *mcpserver.Options) {
		o.Config.Targets = "local"
		o.Local = mcpserver.FixedFleet(svc.Fleet)
		if change != nil {
			change(o)
		}
	})
	for _, name := range []string{"box", "other"} {
		if _, err := svc.Create(t.Context(), smol.Spec{Name: name, Image: "alpine", Network: smol.Network{Open: true}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// write adds lines to the console of a machine.
func (c *consoles) write(machine string, lines ...string) {
	c.t.Helper()
	if err := c.host.Server().AppendConsole(machine, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// rotate empties the console of a machine, as the service does when it has grown.
func (c *consoles) rotate(machine string) {
	c.t.Helper()
	found := 0
	err := filepath.WalkDir(c.host.Dir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && filepath.Base(filepath.Dir(path)) == shelf.Hash(machine) && d.Name() == "console.log" {
			found++
			err = os.Truncate(path, 0)
		}
		return err
	})
	if err != nil || found != 1 {
		c.t.Fatalf("%d consoles were emptied: %v", found, err)
	}
}

func numbered(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("line %d of what a kernel has to say", i))
	}
	return out
}
