// Package script is a guest in pure Go, for every operating system: a machine is a directory of files and a function that answers its
// commands. It understands what the library itself runs inside machines (the runner and the script for files of package guest) and does
// that in Go; every other command is a call of the function. Its machines live in their process and end with it.
package script

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/internal/sim"
)

// Func answers one command and returns its exit code, or [NotFound]. The context ends when the command is killed, by a signal, a deadline
// or the end of its machine; the caller then takes it for dead, and it should return. It is called from many goroutines.
type Func func(ctx context.Context, c *Call) int

// NotFound is what a [Func] returns for a program that its machines do not have. It does so before it touches the command's streams, as
// a machine finds out before it starts the program.
const NotFound = -1

// New returns a guest whose commands run answers. A nil run knows no program. Every machine knows true.
func New(run func(ctx context.Context, c *Call) int) sim.Guest {
	if run == nil {
		run = func(context.Context, *Call) int { return NotFound }
	}
	return &maker{run: run, live: map[string]*instance{}}
}

type maker struct {
	run Func

	mu   sync.Mutex
	live map[string]*instance // by state directory
}

// skeleton is what a new machine has; of these, what Linux keeps in memory is emptied at each boot.
var skeleton = map[string]bool{
	"/bin": false, "/etc": false, "/home": false, "/root": false, "/run": true, "/tmp": true, "/usr/bin": false, "/var/tmp": false,
	"/workspace": false,
}

func (g *maker) Supported() error { return nil }

func (g *maker) Boot(ctx context.Context, b *sim.Boot) (sim.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.Contains(b.Image, "missing") {
		return nil, fmt.Errorf("%w: %s", sim.ErrNoImage, b.Image)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[b.Dir] != nil {
		return nil, fmt.Errorf("a machine already runs in %s", b.Dir)
	}
	tree, err := OpenTree(filepath.Join(b.Dir, "root"), b.Mounts)
	if err != nil {
		return nil, err
	}
	if err := furnish(tree, b.Name); err != nil {
		tree.Close()
		return nil, fmt.Errorf("make the files of the machine: %w", err)
	}
	i := newInstance(g, b, tree)
	g.live[b.Dir] = i
	return i, nil
}

// furnish makes the files that a machine has at boot.
func furnish(tree *Tree, name string) error {
	for dir, inMemory := range skeleton {
		if inMemory {
			if err := tree.RemoveAll(dir); err != nil {
				return err
			}
		}
		if err := tree.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return tree.WriteFile("/etc/hostname", []byte(name+"\n"), 0o644)
}

func (g *maker) Adopt(_ context.Context, dir string) (sim.Instance, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := g.live[dir]; i != nil {
		return i, nil
	}
	return nil, sim.ErrNotRunning
}

func (g *maker) forget(i *instance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live[i.dir] == i {
		delete(g.live, i.dir)
	}
}

func (g *maker) Copy(ctx context.Context, dst, src string) error {
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	from := filepath.Join(src, "root")
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil // a machine that was never booted has no disk
	}
	if err := g.saveModes(src); err != nil {
		return errors.Join(err, os.RemoveAll(dst))
	}
	if err := copyTree(ctx, filepath.Join(dst, "root"), from); err != nil {
		return errors.Join(err, os.RemoveAll(dst))
	}
	return nil
}

// saveModes writes down what a machine that runs in dir knows alone.
func (g *maker) saveModes(dir string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := g.live[dir]; i != nil {
		return i.tree.modes.save()
	}
	return nil
}

func (g *maker) Remove(dir string) error { return os.RemoveAll(dir) }
