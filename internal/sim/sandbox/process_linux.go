package sandbox

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
)

var _ sim.Controlled = (*process)(nil)

// process is a command in a machine.
type process struct {
	machine    *instance
	id         uint64
	pid        int
	streams    *streams
	waitOutput time.Duration

	// ended is closed when the command has ended or the connection was lost; then status or lost is set.
	ended  chan struct{}
	status syscall.WaitStatus
	lost   error

	wait sync.Once
	code int
	err  error
}

// follow receives the end of the command.
func (p *process) follow(c *net.UnixConn) {
	defer close(p.ended)
	defer p.machine.hangUp(c)
	r, files, err := p.machine.listen(c)
	closeAll(files)
	switch {
	case err != nil:
		p.lost = err
	case r.Status == nil:
		p.lost = errors.New("the agent sent something else than the end of the command")
	default:
		p.status = syscall.WaitStatus(*r.Status)
	}
}

// PID returns the process id inside the machine.
func (p *process) PID() int { return p.pid }

// Wait returns the exit code when the command has ended and its output is written. It may be called more than once. It does not wait
// for a reader that stdin comes from.
func (p *process) Wait() (int, error) {
	p.wait.Do(p.finish)
	return p.code, p.err
}

func (p *process) finish() {
	<-p.ended
	limit := p.waitOutput
	if p.lost != nil && limit < 0 {
		// Without a machine nobody holds the output any more; with one, but without a connection, somebody may for ever.
		limit = 0
	}
	err := p.streams.finish(limit)
	if p.lost != nil {
		p.code, p.err = -1, p.lost
		return
	}
	p.code, p.err = exitCode(p.status), err
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// Signal signals the command's process group. If the command has ended the error matches [os.ErrProcessDone].
func (p *process) Signal(sig int) error {
	if sig < 0 || sig > 64 {
		return syscall.EINVAL
	}
	return p.request(&request{Op: opSignal, ID: p.id, Signal: sig})
}

// Kill sends SIGKILL. If the command has ended the error matches [os.ErrProcessDone].
func (p *process) Kill(reach sim.Reach) error {
	return p.request(&request{Op: opKill, ID: p.id, Reach: reach})
}

// Exited is closed when the command has ended, or the machine or the connection to it has.
func (p *process) Exited() <-chan struct{} { return p.ended }

func (p *process) request(req *request) error {
	c, _, files, err := p.machine.ask(context.Background(), req)
	if err != nil {
		return err
	}
	closeAll(files)
	p.machine.hangUp(c)
	return nil
}

// Resize changes the size of the terminal. Without a terminal the error matches [syscall.ENOTTY].
func (p *process) Resize(rows, cols int) error { return p.streams.resize(rows, cols) }
