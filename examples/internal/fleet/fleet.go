// Package fleet is the frame of the examples: it opens the fleet that the flag -fleet names and ends the program properly.
package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/local"
)

// Main parses the program's flags, to which it adds -fleet, and calls run with the fleet. The rest is as with [Run].
func Main(run func(ctx context.Context, f *smol.Fleet) error) {
	name := flag.String("fleet", "local", "where the machines are: `local` or cloud")
	flag.Parse()
	Run(func(ctx context.Context) (err error) {
		f, err := Open(*name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return run(ctx, f)
	})
}

// Run calls run with a context that Ctrl-C ends, so that machines are given back then, too; a second Ctrl-C ends the program at once. An error
// is printed with its hint, and the exit code is 1.
func Run(run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx); err != nil {
		name := filepath.Base(os.Args[0])
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		var e *smol.Error
		if errors.As(err, &e) && e.Hint != "" {
			fmt.Fprintf(os.Stderr, "%s: hint: %s\n", name, e.Hint)
		}
		os.Exit(1)
	}
	stop()
}

// Open opens the fleet with that name, "local" or "cloud", as the environment says. Code behind it works on both.
func Open(name string) (*smol.Fleet, error) {
	switch name {
	case "local":
		svc, err := local.New(local.OptionsFromEnv()) // SMOL_LOCAL_URL
		if err != nil {
			return nil, err
		}
		return svc.Fleet, nil
	case "cloud":
		svc, err := cloud.New(cloud.OptionsFromEnv()) // SMOL_CLOUD_TOKEN, SMOL_CLOUD_URL
		if err != nil {
			return nil, err
		}
		return svc.Fleet, nil
	}
	return nil, fmt.Errorf("-fleet %q: there are local and cloud", name)
}
