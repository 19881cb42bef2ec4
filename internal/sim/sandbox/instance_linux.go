package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// instance is a machine that runs, whoever made it.
type instance struct {
	state   *state
	process *process1
	id      string
	console string
	env     []string

	mu sync.Mutex
	// conns are the connections to the agent that are open, to be cut by Release.
	conns    map[*net.UnixConn]bool
	released bool

	freezing sync.Mutex
	// frozen holds the machine still as long as it is open.
	frozen *net.UnixConn
}

// endTimeout is how long the processes of a machine that is ending may take, until that is not believed any more.
const endTimeout = 5 * time.Second

var (
	_ sim.Instance   = (*instance)(nil)
	_ sim.Configured = (*instance)(nil)
)

// newInstance takes over the state and the process.
func newInstance(s *state, p *process1, bootID string) *instance {
	m := &instance{state: s, process: p, id: bootID, conns: map[*net.UnixConn]bool{}}
	go m.watch()
	return m
}

// watch waits for the end of the machine and then closes everything.
func (m *instance) watch() {
	if m.process.wait() == nil {
		m.letGo()
	}
}

// letGo closes everything; the agent, if it is still there, kills the commands that are tied to us.
func (m *instance) letGo() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		c.Close()
	}
	clear(m.conns)
	m.released = true
	return errors.Join(ignoreClosed(m.process.file.Close()), ignoreClosed(m.state.close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// PID returns the number of the machine's process 1 on the host.
func (m *instance) PID() int { return m.process.pid }

// Console returns the steps of the set-up.
func (m *instance) Console() string { return m.console }

// Done is closed when every process of the machine is gone. It is never closed after Release.
func (m *instance) Done() <-chan struct{} { return m.process.gone }

// Kill ends the machine and returns when every process of it is gone. Killing it twice is no error.
func (m *instance) Kill() error {
	if err := m.process.signal(unix.SIGKILL); err != nil {
		select {
		case <-m.process.gone:
			return nil
		default:
			return fmt.Errorf("kill machine: %w", err)
		}
	}
	<-m.process.gone
	return nil
}

// Release lets go of the machine, which goes on, but for the commands that are tied to their caller. A frozen machine thaws.
func (m *instance) Release() error { return m.letGo() }

// dial opens a connection to the agent, which closes with the instance.
func (m *instance) dial() (*net.UnixConn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.released {
		return nil, m.lost()
	}
	c, err := m.state.dial()
	if err != nil {
		return nil, err
	}
	m.conns[c] = true
	return c, nil
}

func (m *instance) hangUp(c *net.UnixConn) {
	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
	c.Close()
}

// lost says why there is no connection.
func (m *instance) lost() error {
	select {
	case <-m.process.gone:
		return fmt.Errorf("%s: %w", m.state.path, sim.ErrNotRunning)
	default:
		return fmt.Errorf("%s: connection to the machine: %w", m.state.path, net.ErrClosed)
	}
}

// ask sends a request and returns the connection, the first reply and the descriptors that came with it. The connection is the
// caller's to hang up.
func (m *instance) ask(ctx context.Context, req *request, files ...int) (*net.UnixConn, *reply, []int, error) {
	c, err := m.dial()
	if err != nil {
		return nil, nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	r, got, err := m.talk(c, req, files...)
	if !stop() && err == nil {
		closeAll(got)
		err = ctx.Err()
	}
	if err != nil {
		m.hangUp(c)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, nil, err
	}
	return c, r, got, nil
}

// talk sends a request and receives the reply to it.
func (m *instance) talk(c *net.UnixConn, req *request, files ...int) (*reply, []int, error) {
	if err := writeFrame(c, req, files...); err != nil {
		return nil, nil, m.cut(err)
	}
	return m.listen(c)
}

// listen receives a reply.
func (m *instance) listen(c *net.UnixConn) (*reply, []int, error) {
	var r reply
	files, err := readFrame(c, &r)
	if err != nil {
		return nil, nil, m.cut(err)
	}
	if r.Error != nil {
		closeAll(files)
		return nil, nil, r.Error.err()
	}
	return &r, files, nil
}

// cut makes sense of an error of a connection. One that was cut by the other side means that the machine is ending: the agent does
// not hang up without an answer.
func (m *instance) cut(err error) error {
	switch {
	case errors.Is(err, errFrameSize):
		return unix.E2BIG
	case errors.Is(err, net.ErrClosed):
		return m.lost()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		select {
		case <-m.process.gone:
			return m.lost()
		case <-time.After(endTimeout):
		}
	}
	return fmt.Errorf("%s: connection to the machine: %w", m.state.path, err)
}

// askFile asks for something that comes as one descriptor.
func (m *instance) askFile(ctx context.Context, req *request) (*net.UnixConn, int, error) {
	c, _, files, err := m.ask(ctx, req)
	if err != nil {
		return nil, -1, err
	}
	if len(files) != 1 {
		closeAll(files)
		m.hangUp(c)
		return nil, -1, fmt.Errorf("%s: the agent sent %d descriptors instead of one", m.state.path, len(files))
	}
	return c, files[0], nil
}

// hello makes sure that this boot of the machine answers, and that it is the process that we take it for.
func (m *instance) hello(ctx context.Context) error {
	c, r, files, err := m.ask(ctx, &request{Op: opHello})
	if err != nil {
		return err
	}
	closeAll(files)
	defer m.hangUp(c)
	if r.BootID != m.id {
		return fmt.Errorf("%s: the machine that answers is %q and not %q", m.state.path, r.BootID, m.id)
	}
	m.console, m.env = r.Console, r.Env
	return nil
}

// Config returns what the image says of the commands in it: its PATH. The rest of the environment is not the image's.
func (m *instance) Config() sim.Config {
	return sim.Config{Env: slices.DeleteFunc(slices.Clone(m.env), func(e string) bool { return !strings.HasPrefix(e, "PATH=") })}
}
