package smol

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/randhex"
)

// cancelGrace is how long Wait goes on waiting after the context has ended. The rest of the promised second is for the caller.
const cancelGrace = 900 * time.Millisecond

// run is one execution of a [Cmd]: one goroutine that starts the command, polls it and delivers its output.
type run struct {
	m       *Machine
	visit   *visit
	ctx     context.Context // bounds the command, as that of os/exec.CommandContext
	args    []string        // as the caller gave them
	start   guest.Start
	shift   int // how many arguments of start.Argv go before the caller's
	user    string
	stdin   io.Reader
	input   *stage // what stdin held, in the machine
	quiet   bool   // nobody looks at the output before the end
	patient bool   // nobody is told when the command has begun, so its start may wait for its end

	out, err    *sink
	stdout      io.Writer // where a merged standard error goes if it cannot be merged in the machine
	merged      bool
	noBulk      bool   // output comes with polls only
	buffer      []byte // for output that comes in bulk
	stage       string // the file in the machine through which that comes
	plain       bool   // the command went over the fleet's own wire
	begun, done chan struct{}
	idle        *pause    // between polls while others need the places
	polled      time.Time // when news was asked for last
	watch       *watch    // of a job: what a poll of it asks for
	hushed      bool      // the last request wanted no output of a job that runs
	kept        bool      // the files stay when the end is known

	mu     sync.Mutex
	sent   bool // the request to start may have left
	ended  bool // the command has ended, or will never start
	killed *killing

	// Written before done is closed.
	state    *CmdState
	result   error
	panicked any
}

func newRun(ctx context.Context, c *Cmd, patient bool) *run {
	r := &run{
		m: c.machine, visit: &visit{m: c.machine}, ctx: ctx, args: slices.Clone(c.Args), user: c.User, stdin: c.Stdin, quiet: c.quiet, patient: patient,
		out: newSink(c.Stdout), err: newSink(c.Stderr), stdout: c.Stdout, merged: c.merge,
		begun: make(chan struct{}), done: make(chan struct{}), idle: newPause(idleLeast, idleMost),
	}
	r.start = guest.Start{
		ID: "c" + randhex.String(8), Argv: r.args, Env: slices.Clone(c.Env), Dir: c.Dir, Timeout: c.Timeout,
	}
	switch {
	case c.merge:
		r.start.Argv, r.shift = guest.MergeOutput(r.args)
		r.err = newSink(c.Stdout) // only what the runner itself says, such as that the directory is not there
	case c.Stderr == nil:
		r.err = newClipSink()
	}
	return r
}

// drive runs the command to its end.
func (r *run) drive() {
	defer r.dropStdin()
	defer close(r.done)
	finished := false
	defer func() {
		if finished {
			return
		}
		// A writer or reader of the caller's panicked, or left with runtime.Goexit.
		r.panicked = recover()
		r.result = errGoexit
		r.kill()
	}()
	stop := context.AfterFunc(r.ctx, r.kill)
	defer stop()
	r.result = r.execute()
	r.buffer = nil
	if r.ctx.Err() != nil && !r.plain && (!r.known() || r.fellToKill()) {
		r.result = r.cancelled()
	}
	finished = true
}

// execute is what drive does as long as the context has not ended.
func (r *run) execute() error {
	if err := r.m.guest.shell(); err != nil {
		return r.runPlain(err)
	}
	if err := r.sendStdin(); err != nil {
		return err
	}
	reply, err := r.begin()
	if needsPlain(err) {
		return r.runPlain(err)
	}
	if err != nil {
		return err
	}
	close(r.begun)
	return r.attend(reply)
}

// attend delivers the output of a command that has been started until it has ended.
func (r *run) attend(reply *guest.Reply) (err error) {
	for {
		if err := r.deliver(reply); err != nil {
			return err
		}
		more := r.out.next < reply.StdoutSize || r.err.next < reply.StderrSize
		if reply.State != guest.Running && !more {
			return r.finish(reply)
		}
		if reply, err = r.poll(more); errors.Is(err, guest.ErrNoJob) {
			return forgottenCommand() // it was there before
		}
		if err != nil {
			return err
		}
	}
}

// deliver writes what the reply brought to the caller's writers, and fetches the rest if it is long.
func (r *run) deliver(reply *guest.Reply) error {
	if reply.State != guest.Running {
		r.end()
	}
	if err := r.out.accept(r.ctx, &reply.Stdout, reply.StdoutSize); err != nil {
		return err
	}
	if err := r.err.accept(r.ctx, &reply.Stderr, reply.StderrSize); err != nil {
		return err
	}
	return r.bulk(reply)
}

// stay is the check of calls that boot nothing. What a reboot has made of the command the machine itself says best.
func (r *run) stay(ctx context.Context) error { return r.visit.stay(ctx, false) }

// over reports whether the run has come to its end.
func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// await waits for the end of the run, after the end of its context only a little. It reports whether the end came.
func (r *run) await() bool {
	select {
	case <-r.done:
		return true
	case <-r.ctx.Done():
	}
	t := time.NewTimer(cancelGrace)
	defer t.Stop()
	select {
	case <-r.done:
		return true
	case <-t.C:
		return false
	}
}

// known reports whether it is known that the command has ended.
func (r *run) known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// end notes that the command has ended.
func (r *run) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// errGoexit is the result of what was cut short because a writer, reader or file system of the caller's ended its goroutine.
var errGoexit = errors.New("a writer, reader or file system of the caller's ended its goroutine")
