// Stream runs a command that takes its time and shows its output as it comes, stdout and stderr apart, and then how it
// ended. You will see three counted lines, a complaint on stderr and "exit status 3".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

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

	cmd := m.Shell(`for i in 1 2 3; do echo "line $i"; sleep 0.3; done; echo "that was all" >&2; exit 3`)
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.Timeout = time.Minute
	err = cmd.Run(ctx)
	var exit *smol.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("the command should have failed, but: %v", err)
	}
	fmt.Println(exit)
	return nil
}
