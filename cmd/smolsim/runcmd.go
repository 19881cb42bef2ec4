package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// urlVariable tells the command where its server is; the library reads it.
const urlVariable = "SMOL_LOCAL_URL"

// Exit codes for commands that do not run, as env has them.
const (
	exitCannot   = 126
	exitNotFound = 127
)

// runCommand runs a command beside a server of its own, which is gone with all it made when the command has ended.
func runCommand(ctx context.Context, p *program, args []string) (code int, err error) {
	flags := p.flags("run")
	keep := flags.Bool("keep", false, "leave the files of the machines and say where they are")
	if err := p.parse(flags, args); err != nil {
		return exitUsage, err
	}
	argv := flags.Args()
	if len(argv) == 0 {
		return exitUsage, usagef("a command is missing: smolsim run -- CMD ARGS...")
	}
	g := sandbox.New(nil)
	if err := g.Supported(); err != nil {
		return exitError, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	h, err := host.Start(&host.Options{Server: local.Options{Guest: g}, TCP: runtime.GOOS == "windows"})
	if err != nil {
		return exitError, err
	}
	code, err = p.child(ctx, argv, h.URL(), signals)
	if *keep {
		fmt.Fprintf(p.stderr, "smolsim: kept %s\n", h.Dir())
		return code, errors.Join(err, h.Stop())
	}
	return code, errors.Join(err, h.Close())
}

// child runs argv to its end and hands it the signals that this process gets.
func (p *program) child(ctx context.Context, argv []string, url string, signals <-chan os.Signal) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), urlVariable+"="+url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(p.stderr, "smolsim: %v\n", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return exitNotFound, nil
		}
		return exitCannot, nil
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may just have ended
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return exitError, err
			}
			return exitCode(cmd.ProcessState), nil
		}
	}
}
