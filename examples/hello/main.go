// Hello borrows a machine, runs one command in it and gives the machine back. You will see the kernel's name and
// "1024".
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

func main() {
	if err := run(context.Background()); err != nil {
		slog.Error("hello", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	svc, err := local.New(local.OptionsFromEnv())
	if err != nil {
		return err
	}
	defer svc.Close()

	m, err := svc.Create(ctx, smol.Spec{Image: "alpine:3.20", Network: smol.Network{Open: true}}, nil)
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
