// Race lets two branches of one machine try two fixes of one bug at the same time, and keeps the one whose test passes first. You will see which
// that was, and what it has made of the file.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/smol-machines/smol-go/examples/internal/fleet"
	"github.com/smol-machines/smol-go/smol"
)

// The bug, its test, and what might fix it.
const (
	buggy = "echo $(($1 - $2))\n"
	test  = `[ "$(sh /workspace/add.sh 2 2)" = 4 ] && [ "$(sh /workspace/add.sh 2 3)" = 5 ]`
)

var fixes = []struct{ name, script string }{
	{"times", `sed -i 's/ - / * /' /workspace/add.sh`},
	{"plus", `sed -i 's/ - / + /' /workspace/add.sh`},
}

func main() { fleet.Main(run) }

// try is a branch that tries a fix.
type try struct {
	name string
	m    *smol.Machine
	err  error // how it went
}

func run(ctx context.Context, f *smol.Fleet) (err error) {
	source, err := f.Create(ctx, smol.Spec{Image: "alpine:3.20", Network: smol.Network{Open: true}, Branchable: true}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Discard()) }()
	if err := source.WriteFile(ctx, "/workspace/add.sh", []byte(buggy), nil); err != nil {
		return err
	}
	done := make(chan *try, len(fixes))
	for _, fix := range fixes {
		m, err := source.Branch(ctx, source.Name()+"-"+fix.name, nil)
		if err != nil {
			return err
		}
		defer func() { _ = m.Discard() }() // also the winner's, once its file has been read
		job, err := m.Shell(fix.script+" && "+test).StartJob(ctx, nil)
		if err != nil {
			return err
		}
		go func() {
			_, err := job.Wait(ctx)
			done <- &try{fix.name, m, err}
		}()
	}
	for range fixes {
		t := <-done
		var exit *smol.ExitError
		switch {
		case t.err == nil:
			return keep(ctx, t)
		case !errors.As(t.err, &exit):
			return t.err
		}
	}
	return errors.New("no fix passes the test")
}

// keep takes what the winner has made.
func keep(ctx context.Context, t *try) error {
	fixed, err := t.m.ReadFile(ctx, "/workspace/add.sh")
	if err != nil {
		return err
	}
	fmt.Printf("%s wins:\n%s", t.name, fixed)
	return nil
}
