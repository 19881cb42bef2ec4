// Branch prepares a machine once and tries two things in two copies of it. You will see that each copy starts from what was
// prepared and knows nothing of the other.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/smol-machines/smol-go/examples/internal/fleet"
	"github.com/smol-machines/smol-go/smol"
)

func main() { fleet.Main(run) }

func run(ctx context.Context, f *smol.Fleet) (err error) {
	source, err := f.Create(ctx, smol.Spec{
		Image: "alpine:3.20", Network: smol.Network{Open: true}, Branchable: true,
	}, nil)
	if err != nil {
		return err
	}
	// Deleted last: the branches' disks may lie on those of their source, which an older service also freezes.
	defer func() { err = errors.Join(err, source.Discard()) }()

	if err := source.WriteFile(ctx, "/workspace/notes", []byte("prepared once\n"), nil); err != nil {
		return err
	}
	for _, idea := range []string{"first", "second"} {
		child, err := source.Branch(ctx, source.Name()+"-"+idea, nil)
		if err != nil {
			return err
		}
		defer child.Discard()
		out, err := child.Shell("echo tried the " + idea + " idea >>/workspace/notes; cat /workspace/notes").Output(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%s:\n%s", idea, out)
	}
	return nil
}
