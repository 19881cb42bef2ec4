package smol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing/fstest"

	"github.com/smol-machines/smol-go/smol"
)

// A part of a file is cut out in the machine.
func ExampleFile() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()
	if err := m.WriteFile(ctx, "/workspace/log", []byte("one\ntwo\nthree\n"), nil); err != nil {
		fmt.Println(err)
	}

	f, err := m.Open(ctx, "/workspace/log", &smol.OpenOptions{Offset: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	_, err = io.Copy(os.Stdout, f)
	fmt.Println(f.Size(), err)
	// Output:
	// two
	// three
	// 10 <nil>
}

func ExampleOpenOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	_, err := m.Open(ctx, "/nothing/here", &smol.OpenOptions{Length: 100})
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output: true
}

func ExampleFileInfo() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()
	if err := m.WriteFile(ctx, "/workspace/run.sh", []byte("exit 0\n"), &smol.WriteOptions{Mode: 0o755}); err != nil {
		fmt.Println(err)
	}

	info, err := m.Stat(ctx, "/workspace/run.sh")
	fmt.Println(info.Name(), info.Size(), info.Mode(), err)
	// Output: run.sh 7 -rwxr-xr-x <nil>
}

// A file that is replaced keeps its mode, unless another one is asked for.
func ExampleWriteOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	for _, opts := range []*smol.WriteOptions{{Mode: 0o600}, nil} {
		if err := m.WriteFile(ctx, "/workspace/key", []byte("secret"), opts); err != nil {
			fmt.Println(err)
		}
		info, err := m.Stat(ctx, "/workspace/key")
		fmt.Println(info.Mode(), err)
	}
	// Output:
	// -rw------- <nil>
	// -rw------- <nil>
}

func ExampleMkdirOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	fmt.Println(m.MkdirAll(ctx, "/workspace/a/b", &smol.MkdirOptions{Mode: 0o700}))
	info, err := m.Stat(ctx, "/workspace/a/b")
	fmt.Println(info.Mode(), err)
	// Output:
	// <nil>
	// drwx------ <nil>
}

func ExampleRemoveOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()
	if err := m.WriteFile(ctx, "/workspace/a/b", nil, nil); err != nil {
		fmt.Println(err)
	}

	err := m.Remove(ctx, "/workspace/a", nil)
	fmt.Println(errors.Is(err, smol.ErrConflict)) // it is not empty
	fmt.Println(m.Remove(ctx, "/workspace/a", &smol.RemoveOptions{Recursive: true}))
	// Output:
	// true
	// <nil>
}

func ExampleCopyOptions() {
	ctx := context.Background()
	m, done := exampleMachine(ctx)
	defer done()

	tree := fstest.MapFS{"go.mod": {Data: []byte("module x\n")}, "cmd/x/main.go": {Data: []byte("package main\n")}}
	if err := m.CopyFS(ctx, "/workspace/x", tree, &smol.CopyOptions{SkipSpecial: true}); err != nil {
		fmt.Println(err)
		return
	}
	data, err := m.ReadFile(ctx, "/workspace/x/cmd/x/main.go")
	fmt.Printf("%s%v\n", data, err)
	// Output:
	// package main
	// <nil>
}
