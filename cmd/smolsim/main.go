// Smolsim stands where smolvm stands, and where the cloud stands: it serves the API of either and runs machines without a hypervisor,
// each a Linux namespace of its own. It is for trying out and for tests, and is no isolation for hostile code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// imitated is the release of smolvm whose behaviour this program shows.
const imitated = "1.14.5"

// Exit codes as smolvm has them.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// program is what a command may use of the process it runs in.
type program struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// command is one of the things the program does. The code that run returns is the program's.
type command struct {
	name, args, help string
	run              func(ctx context.Context, p *program, args []string) (int, error)
}

func commands() []command {
	return []command{
		{"serve start", "[flags]", "serve the local machine API until SIGINT or SIGTERM; machines keep running", serveStart},
		{"cloud", "--token-file FILE [flags]", "serve the cloud's API and print its URL, until SIGINT or SIGTERM; machines keep running", serveCloud},
		{"serve openapi", "[-o FILE] [-f json|yaml]", "print the OpenAPI document of the API", serveOpenAPI},
		{"run", "[--keep] [--cloud] -- CMD ARGS...", "run a command with SMOL_LOCAL_URL, and with --cloud SMOL_CLOUD_URL and SMOL_CLOUD_TOKEN, set to " +
			"servers of its own, then remove those", runCommand},
	}
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{getenv: getenv, stdin: stdin, stdout: stdout, stderr: stderr}
	code, err := p.dispatch(ctx, args)
	var usage *usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "error: %s\n\nFor more information, try '--help'.\n", usage.text)
		return exitUsage
	case err != nil:
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return exitError
	}
	return code
}

func (p *program) dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		p.help(p.stderr)
		return exitUsage, nil
	}
	switch args[0] {
	case "-V", "--version", "-version", "version":
		fmt.Fprintf(p.stdout, "smolvm %s\nhypervisor: none\n", imitated)
		return exitOK, nil
	case "-h", "--help", "-help", "help":
		p.help(p.stdout)
		return exitOK, nil
	case witnessName:
		return exitOK, beWitness(p)
	case "serve":
		if len(args) == 1 || args[1] == "-h" || args[1] == "--help" || args[1] == "help" {
			p.help(p.stdout)
			return exitOK, nil
		}
		args = append([]string{"serve " + args[1]}, args[2:]...)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, p, args[1:])
		}
	}
	return exitUsage, usagef("unrecognized subcommand '%s'", args[0])
}

func (p *program) help(w io.Writer) {
	fmt.Fprintf(w, "smolsim stands where smolvm %s stands, without a hypervisor: for trying out and for tests.\n\nUsage: smolsim COMMAND\n\nCommands:\n", imitated)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s %s\n        %s\n", c.name, c.args, c.help)
	}
	fmt.Fprintf(w, "\nOptions:\n  -V, --version  print what is imitated\n  -h, --help     print this, or the flags of a command\n")
}

// usageError is a mistake in how the program was called.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// flags returns a flag set whose mistakes are usage errors and whose help goes to stdout.
func (p *program) flags(c string) *flag.FlagSet {
	fs := flag.NewFlagSet("smolsim "+c, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// operands are what follows the flags of a command, for its help.
var operands = map[string]string{"smolsim run": " -- CMD ARGS..."}

// parse parses args into fs; help has been printed when it returns flag.ErrHelp.
func (p *program) parse(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(p.stdout, "Usage: %s [flags]%s\n\nFlags:\n", fs.Name(), operands[fs.Name()])
		fs.SetOutput(p.stdout)
		fs.PrintDefaults()
		return err
	}
	if err != nil {
		return usagef("%v", err)
	}
	return nil
}
