package script

import (
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// Call is a command that a [Func] answers.
type Call struct {
	// Argv is the command with its arguments; it is not empty.
	Argv []string
	// Env is the whole environment, NAME=value.
	Env []string
	// Dir is the working directory, absolute and there.
	Dir string
	// User is who the command runs as: "" for root, else a name or uid[:gid].
	User string
	// Stdin, Stdout and Stderr are never nil. They fail once the command has been killed.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Files are the files of the machine.
	Files *Tree
	// TTY reports that the command has a terminal, which is both Stdout and Stderr.
	TTY bool

	proc *process
}

// Getenv returns the value of a variable of the command, the last one given, or "".
func (c *Call) Getenv(name string) string {
	for _, kv := range slices.Backward(c.Env) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// Path returns the absolute path that name means in the working directory.
func (c *Call) Path(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Dir, name)
}

// Trap makes f the answer to signals, by their Linux number, that would otherwise end the command. KILL ends it all the same.
func (c *Call) Trap(f func(signal int)) { c.proc.trap(f) }

// output is a stream that a command writes to as long as it lives.
type output struct {
	p *process
	w io.Writer
}

func (o *output) Write(b []byte) (int, error) {
	o.p.commit()
	if o.w == nil {
		return len(b), o.p.alive()
	}
	return o.p.write(o.w, b)
}

// input is what a command reads. A read that waits ends with the command, though whoever feeds it may not know of that.
type input struct {
	p       *process
	r       io.Reader
	pending chan chunk
	rest    chunk
}

type chunk struct {
	b   []byte
	err error
}

func (in *input) Read(b []byte) (int, error) {
	in.p.commit()
	if err := in.p.alive(); err != nil {
		return 0, err
	}
	if in.r == nil {
		return 0, io.EOF
	}
	if len(in.rest.b) == 0 && in.rest.err == nil {
		if err := in.fill(len(b)); err != nil {
			return 0, err
		}
	}
	n := copy(b, in.rest.b)
	in.rest.b = in.rest.b[n:]
	if len(in.rest.b) > 0 {
		return n, nil
	}
	return n, in.rest.err
}

// fill waits for the next chunk; reading aside keeps a buffer of the caller's from being written to after the command is dead.
func (in *input) fill(size int) error {
	if in.pending == nil {
		in.pending = make(chan chunk, 1)
		go func(to chan<- chunk) {
			b := make([]byte, min(max(size, 1), 64<<10))
			n, err := in.r.Read(b)
			to <- chunk{b[:n], err}
		}(in.pending)
	}
	select {
	case in.rest = <-in.pending:
		in.pending = nil
		return nil
	case <-in.p.ctx.Done():
		return os.ErrClosed
	}
}

// callContext is the context of a call. A function that asks for its end has made up its mind to run.
type callContext struct {
	context.Context
	p *process
}

func (c callContext) Done() <-chan struct{} {
	c.p.commit()
	return c.Context.Done()
}
