// Branch prepares a machine once and tries two things in two copies of it. You will see that each copy starts from what was
// prepared and knows nothing of the other.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

func main() {
	if err := run(context.Background()); err != nil {
		slog.Error("branch", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	svc, err := local.New(local.OptionsFromEnv())
	if err != nil {
		return err
	}
	defer svc.Close()

	source, err := svc.Create(ctx, smol.Spec{
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
