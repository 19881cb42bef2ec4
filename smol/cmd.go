package smol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Cmd is a command to be run in a machine, in the shape of os/exec.Cmd. Fill in its fields, then call Run, Output,
// CombinedOutput, or Start and Wait. It cannot be reused, and its fields must not change once it has been started. Its
// methods except Signal are not safe for concurrent use.
//
// The command is kept by the machine, not by the connection: a lost reply, or a restart of the service, neither loses it
// nor runs it twice. Its bytes are exact both ways. Output has no limit; it waits in files of the machine until it has been
// delivered, so that a slow writer holds up neither the command nor anybody else.
type Cmd struct {
	// Args is the command and its arguments; there is no shell. Text only: UTF-8 without NUL.
	Args []string
	// Env is added to the environment of the machine's commands, as NAME=value; the last one of a name wins.
	Env []string
	// Dir is the absolute working directory. Empty: [Spec.Dir], else the image's.
	Dir string
	// User runs the command as another user of the machine, on a fleet that can; others refuse it with an error that matches
	// errors.ErrUnsupported. Empty: the image's own user.
	User string
	// Stdin is read to its end and put into the machine as a file before the command starts: the command finds all of it, and
	// cannot be talked to while it runs. Nil: the null device.
	Stdin io.Reader
	// Stdout and Stderr receive the output, while the command runs. Nil: it is thrown away. If both are the same writer, which must
	// be comparable, the two outputs are one, in the order in which they were written. At most one goroutine at a time calls Write.
	// After a failed Write no more is written to that writer; the command goes on, and Wait returns the failure.
	Stdout, Stderr io.Writer
	// Timeout ends the command, and everything it started, when it has run for so long. Zero: never.
	Timeout time.Duration

	// State tells how the command ended. It is set by Wait, and by what calls Wait, once the command has ended.
	State *CmdState

	machine *Machine
	merge   bool // Stderr goes where Stdout goes, in the machine
	quiet   bool // nobody looks at the output before the end
	mu      sync.Mutex
	run     *run // nil until Start
	waited  bool
}

// Command returns a command that runs the program with the arguments. Nothing is sent before Start or Run.
func (m *Machine) Command(name string, arg ...string) *Cmd {
	return &Cmd{machine: m, Args: append([]string{name}, arg...)}
}

// Shell returns a command that gives the script to the machine's POSIX shell.
func (m *Machine) Shell(script string) *Cmd { return m.Command("sh", "-c", script) }

// Run starts the command and waits for its end, as Start and Wait do. A short command costs one round trip.
func (c *Cmd) Run(ctx context.Context) error {
	if err := c.start(ctx, true); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns what it wrote to its standard output. Cmd.Stdout must be nil.
func (c *Cmd) Output(ctx context.Context) ([]byte, error) {
	if c.Stdout != nil {
		return nil, c.wrap(invalidf("Cmd.Stdout", "is already set; Output collects it"))
	}
	var out bytes.Buffer
	c.Stdout, c.quiet = &out, true
	err := c.Run(ctx)
	return c.collected(&out), err
}

// CombinedOutput runs the command and returns what it wrote to its standard output and standard error, in the order in which it
// wrote them. Cmd.Stdout and Cmd.Stderr must be nil.
func (c *Cmd) CombinedOutput(ctx context.Context) ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, c.wrap(invalidf("Cmd.Stdout or Cmd.Stderr", "is already set; CombinedOutput collects both"))
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.quiet = &out, &out, true
	err := c.Run(ctx)
	return c.collected(&out), err
}

// collected returns what is in the buffer, unless the call returned early and the buffer may still be written to.
func (c *Cmd) collected(out *bytes.Buffer) []byte {
	if c.run != nil && !c.run.over() {
		return nil
	}
	return out.Bytes()
}

// Start starts the command and returns when the machine has said that it did, with Cmd.Stdin in the machine. The context bounds
// the command: when it ends before the command does, the command is killed with everything it started.
//
// That the program does not exist shows only at Wait, as exit code 127.
func (c *Cmd) Start(ctx context.Context) error {
	if err := c.start(ctx, false); err != nil {
		return err
	}
	select {
	case <-c.run.begun:
		return nil
	case <-c.run.done:
	case <-ctx.Done():
		return c.Wait()
	}
	select {
	case <-c.run.begun:
		return nil
	default:
		return c.Wait()
	}
}

func (c *Cmd) start(ctx context.Context, patient bool) error {
	if err := c.validate(); err != nil {
		return c.wrap(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil {
		return c.wrap(&Error{Code: CodeInvalid, Message: "the command was already started; a Cmd cannot be reused"})
	}
	c.merge = sameWriter(c.Stdout, c.Stderr)
	c.run = newRun(ctx, c, patient)
	go c.run.drive()
	return nil
}

// Wait waits until the command has ended and its output has been written. It must be called once after Start, and returns nil
// if the command exited with 0, an [*ExitError] if it ended otherwise, the error of a writer that failed, and an error that
// wraps that of the context when this ended first: then the command has been killed.
//
// After the context has ended Wait returns within a second, and says so if it could not be confirmed within that time that
// the command is dead, or if a writer or Cmd.Stdin did not return. A panic of Cmd.Stdin or of a writer is passed on by Wait.
func (c *Cmd) Wait() error {
	c.mu.Lock()
	r := c.run
	again := c.waited
	c.waited = r != nil
	c.mu.Unlock()
	switch {
	case r == nil:
		return c.wrap(&Error{Code: CodeInvalid, Message: "the command was not started"})
	case again:
		return c.wrap(&Error{Code: CodeInvalid, Message: "Wait was already called"})
	}
	if !r.await() {
		return c.wrap(fmt.Errorf("%w; the command may still run, its end is not confirmed", cause(r.ctx)))
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	c.State = r.state
	return c.wrap(r.result)
}

// Signal sends a signal to the command and its process group; with [Kill] also to everything else that it started. It is safe to
// call while Wait waits. A command that is known to have ended, or that is not in the machine yet, is an error that matches
// [ErrConflict]; one that ends meanwhile is none.
func (c *Cmd) Signal(ctx context.Context, s Signal) error {
	c.mu.Lock()
	r := c.run
	c.mu.Unlock()
	var err error
	switch {
	case s.Number() == 0:
		err = invalidf("Signal", "%q is none of the signals of this package", string(s))
	case r == nil:
		err = &Error{Code: CodeInvalid, Message: "the command was not started"}
	default:
		err = r.signal(ctx, s)
	}
	return wrapError("signal", c.machine.Name(), err)
}

// validate checks what the command was given before anything is sent.
func (c *Cmd) validate() error {
	switch {
	case len(c.Args) == 0 || c.Args[0] == "":
		return invalidf("Cmd.Args", "names no program")
	case c.Timeout < 0:
		return notNegative("Cmd.Timeout", int64(c.Timeout))
	}
	if err := validateArgs("Cmd.Args", c.Args); err != nil {
		return err
	}
	if err := validateEnvList("Cmd.Env", c.Env); err != nil {
		return err
	}
	if err := validateText("Cmd.User", c.User); err != nil {
		return err
	}
	return optional(c.Dir, "Cmd.Dir", validateGuestPath)
}

func (c *Cmd) wrap(err error) error {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	var w *writerError
	if errors.As(err, &w) {
		return w.err
	}
	return wrapError("run", c.machine.Name(), err)
}

// sameWriter reports whether both are one writer. Writers that cannot be compared are two.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a != nil && a == b
}
