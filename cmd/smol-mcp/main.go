// Smol-mcp is a server of the Model Context Protocol: it gives an AI agent virtual machines to run commands in, on this host and in the
// smol cloud. Without a command it serves one client over its standard streams.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/smol-machines/smol-go/internal/version"
	"github.com/smol-machines/smol-go/mcpserver"
)

// Exit codes: a wrong flag, setting or variable is told apart from what went wrong later.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// program is what a command may use of the process it runs in.
type program struct {
	lookup         func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
}

// command is one of the things the program does.
type command struct {
	name, help string
	run        func(ctx context.Context, p *program, o *options) error
}

// commands returns what there is besides serving the standard streams.
func commands() []command {
	return []command{
		{"stdio", "serve one client over the standard streams (the default)", serveStdio},
		{"demo", "do a whole job as an agent would, on smolvm or else on smolsim, call by call", serveDemo},
	}
}

func main() {
	collectLess(os.LookupEnv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, lookup func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{lookup: lookup, stdin: stdin, stdout: stdout, stderr: stderr}
	err := p.dispatch(ctx, args)
	var config *mcpserver.ConfigError
	var usage *usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "smol-mcp: %v\nsmol-mcp --help lists what there is.\n", err)
		return exitUsage
	case errors.As(err, &config):
		fmt.Fprintf(stderr, "smol-mcp: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "smol-mcp: %v\n", err)
		return exitError
	}
}

// usageError is a mistake in the command line.
type usageError struct{ text string }

// Error returns what is wrong.
func (e *usageError) Error() string { return e.text }

func (p *program) dispatch(ctx context.Context, args []string) error {
	run := serveStdio
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		found := false
		for _, c := range commands() {
			if c.name == args[0] {
				run, found = c.run, true
			}
		}
		if !found {
			return &usageError{fmt.Sprintf("there is no command %q", args[0])}
		}
		args = args[1:]
	}
	o, err := p.parse(args)
	if err != nil || o.version {
		return err
	}
	return run(ctx, p, o)
}

// parse reads the flags, which may stand before or after none of the commands, and prints what --help and --version ask for.
func (p *program) parse(args []string) (*options, error) {
	o, flags := newOptions()
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.help(flags)
		return nil, err
	case err != nil:
		return nil, &usageError{err.Error()}
	case flags.NArg() > 0:
		return nil, &usageError{fmt.Sprintf("unexpected argument %q", flags.Arg(0))}
	case o.version:
		fmt.Fprintf(p.stdout, "smol-mcp %s\n", version.String())
	}
	return o, nil
}
