package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/smol-machines/smol-go/internal/sim"
)

// Guest makes machines in Linux namespaces. It is safe for concurrent use.
type Guest struct {
	opts Options
	// supported, goroot and applets are asked once.
	supported func() error
	goroot    func() (string, error)
	applets   func() ([]string, error)
	// failAt names a step that is to fail, for tests.
	failAt string
}

var _ sim.Guest = (*Guest)(nil)

// New returns a guest. Nil options are the same as none.
func New(opts *Options) *Guest {
	g := &Guest{}
	if opts != nil {
		g.opts = *opts
	}
	g.supported = sync.OnceValue(g.try)
	g.goroot = sync.OnceValues(g.findGOROOT)
	g.applets = sync.OnceValues(g.listApplets)
	return g
}

// Supported boots a machine the first time it is asked, and returns why that failed.
func (g *Guest) Supported() error { return g.supported() }

func (g *Guest) try() error {
	dir, err := os.MkdirTemp("", "smol-")
	if err != nil {
		return &Error{Step: "state directory", Err: err}
	}
	defer g.Remove(dir)
	m, err := g.Boot(context.Background(), &sim.Boot{Dir: filepath.Join(dir, "m"), Name: "try"})
	if err != nil {
		return err
	}
	return m.Kill()
}
