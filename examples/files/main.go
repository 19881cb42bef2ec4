// Files puts a tree into a machine, looks at it there, changes it and takes it out again. You will see the names and sizes
// of what came back.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"testing/fstest"

	"github.com/smol-machines/smol-go/examples/internal/fleet"
	"github.com/smol-machines/smol-go/smol"
)

func main() { fleet.Main(run) }

func run(ctx context.Context, f *smol.Fleet) error {
	m, err := f.Create(ctx, smol.Spec{Image: "alpine:3.20", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		return err
	}
	defer m.Discard()

	tree := fstest.MapFS{
		"src/hello.txt": {Data: []byte("hello\n"), Mode: 0o644},
		"src/run.sh":    {Data: []byte("#!/bin/sh\ntr a-z A-Z <hello.txt >loud.txt\n"), Mode: 0o755},
	}
	if err := m.CopyFS(ctx, "/workspace/project", tree, nil); err != nil {
		return err
	}
	cmd := m.Command("./run.sh")
	cmd.Dir = "/workspace/project/src"
	if err := cmd.Run(ctx); err != nil {
		return err
	}
	loud, err := m.ReadFile(ctx, "/workspace/project/src/loud.txt")
	if err != nil {
		return err
	}
	fmt.Printf("%s", loud)
	return takeOut(ctx, m)
}

// takeOut copies the tree to a temporary directory, which it cannot leave, and lists it.
func takeOut(ctx context.Context, m *smol.Machine) error {
	dir, err := os.MkdirTemp("", "smol-files")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := m.CopyOut(ctx, "/workspace/project", root, nil); err != nil {
		return err
	}
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Println(path, info.Size())
		}
		return err
	})
}
