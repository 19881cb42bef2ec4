// Hello borrows a machine, runs one command in it and gives the machine back. You will see the kernel's name and
// "1024".
package main

import (
	"context"
	"fmt"

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

	out, err := m.Command("uname", "-s").Output(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s", out)

	out, err = m.Shell("echo $((2 * 512))").Output(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s", out)
	return nil
}
