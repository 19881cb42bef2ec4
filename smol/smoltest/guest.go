package smoltest

import (
	"context"
	"io"
	"io/fs"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// Guest is what the machines of a stand-in are: [Sandbox] or [Script].
type Guest interface {
	// guest is for a test, which it may skip; alone is for other places.
	guest(tb testing.TB) sim.Guest
	alone() sim.Guest
}

// Sandbox returns machines that run real commands, as processes in Linux namespaces of their own. Where the system cannot make them
// the test is skipped and says why and what to do about it; with SMOL_REQUIRE_SANDBOX=1 in the environment it fails instead.
func Sandbox() Guest { return sandboxGuest{} }

type sandboxGuest struct{}

func (sandboxGuest) guest(tb testing.TB) sim.Guest {
	tb.Helper()
	return simtest.Sandbox(tb)
}

func (sandboxGuest) alone() sim.Guest { return sandbox.New(nil) }

// Script returns machines whose commands run answers, on every system. What the library itself does in a machine (starting commands,
// moving files) works without run's help; every other command is a call of run, which returns the exit code or [NotFound]. A shell is a
// program like any other: m.Shell(text) is a call with the argv sh, -c, text.
//
// The context ends when the command is killed: by a signal, its deadline, or the end of its machine. It is dead then for whoever waits
// for it, and run should return. Run is called from many goroutines.
func Script(run func(ctx context.Context, c *Call) int) Guest { return scriptGuest(run) }

type scriptGuest func(ctx context.Context, c *Call) int

func (run scriptGuest) guest(testing.TB) sim.Guest { return run.alone() }

func (run scriptGuest) alone() sim.Guest {
	if run == nil {
		return script.New(nil)
	}
	return script.New(func(ctx context.Context, c *script.Call) int { return run(ctx, newCall(c)) })
}

// NotFound is what the function of [Script] returns for a program that its machines do not have, before it has touched the command's
// streams. A machine without any function knows true.
const NotFound = script.NotFound

// Call is a command that the function of [Script] answers.
type Call struct {
	// Argv is the command with its arguments; it is not empty.
	Argv []string
	// Env is the whole environment, NAME=value.
	Env []string
	// Dir is the working directory, absolute and there.
	Dir string
	// User is who the command runs as; empty: root.
	User string
	// Stdin, Stdout and Stderr are never nil. They fail once the command has been killed.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	call *script.Call
}

func newCall(c *script.Call) *Call {
	return &Call{
		Argv: c.Argv, Env: c.Env, Dir: c.Dir, User: c.User, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, call: c,
	}
}

// Getenv returns the value of a variable in the command's environment, or "".
func (c *Call) Getenv(name string) string { return c.call.Getenv(name) }

// ReadFile returns what a file of the machine holds. A relative name starts in the working directory.
func (c *Call) ReadFile(name string) ([]byte, error) { return c.call.Files.ReadFile(c.call.Path(name)) }

// WriteFile replaces what a file of the machine holds, making it with perm if there is none. A relative name starts in the working
// directory, and the directory of the file must exist.
func (c *Call) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return c.call.Files.WriteFile(c.call.Path(name), data, perm)
}

// Remove deletes a file or an empty directory of the machine. A relative name starts in the working directory.
func (c *Call) Remove(name string) error { return c.call.Files.Remove(c.call.Path(name)) }

// FS is the machine's whole file system for reading; its root is the machine's.
func (c *Call) FS() fs.FS { return c.call.Files.FS() }

// OnSignal makes f, on a goroutine of its own, the answer to every signal but KILL and STOP that would otherwise end the command. The
// number is that of Linux.
func (c *Call) OnSignal(f func(number int)) { c.call.Trap(f) }
