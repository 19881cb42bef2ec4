package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/lossy"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/feed"
	"github.com/smol-machines/smol-go/internal/sim/serde"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// chunkSize is the most that one event carries of a command's output.
const chunkSize = 4096

// output turns a command's output into events.
type output struct {
	events chan feed.Event
	// gone is closed when nobody reads the events any more.
	gone <-chan struct{}
	// full is called once the cap has been reached.
	full func()

	mu    sync.Mutex
	total int
	ended bool
}

// emit sends an event if somebody still reads. The sender is held up by a slow reader.
func (o *output) emit(e feed.Event) {
	select {
	case o.events <- e:
	case <-o.gone:
	}
}

// end sends the terminal event; only the first counts, and no output comes after it.
func (o *output) end(e feed.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.ended = true
		o.emit(e)
		close(o.events)
	}
}

// write sends a chunk, or ends the stream at the cap.
func (o *output) write(name string, chunk []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += len(chunk)
	switch {
	case o.ended:
	case o.total >= outputCap:
		o.ended = true
		o.emit(feed.Event{Name: "error", Data: fmt.Sprintf(`{"message":"streaming output exceeded %d byte cap; exec terminated (output truncated)"}`, outputCap)})
		close(o.events)
		o.full()
	default:
		o.emit(feed.Event{Name: name, Data: lossy.String(chunk)})
	}
}

// channel is one of the two streams of an output.
type channel struct {
	o    *output
	name string
}

func (c channel) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), chunkSize)
		c.o.write(c.name, rest[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

// execStream runs a command whose output is sent as it comes. It runs on without a reader.
func (c *call) execStream() (any, error) {
	_, v, sp, err := c.execArgs()
	if err != nil {
		return nil, err
	}
	if sp.op = "streaming exec"; sp.image {
		sp.op = "run streaming"
	}
	gone := make(chan struct{})
	defer close(gone)
	full := make(chan struct{})
	o := &output{events: make(chan feed.Event), gone: gone, full: func() { close(full) }}
	c.tasks.Go(func() {
		defer v.disconnect()
		c.runStream(v, sp, o, full)
	})
	feed.Send(c.tasks.Context(), c.w, c.r, o.events, c.o.KeepAlive)
	return nil, nil
}

// runStream runs the command to its end. Its standard input is open and stays empty.
func (s *Server) runStream(v *vm, sp *spec, o *output, full <-chan struct{}) {
	in, hold, err := os.Pipe()
	if err != nil {
		o.end(setupError(sp, err.Error()))
		return
	}
	defer in.Close()
	defer hold.Close()
	cmd := &sim.Command{
		Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user, Tied: true, WaitOutput: -1,
		Stdin: in, Stdout: channel{o, "stdout"}, Stderr: channel{o, "stderr"},
	}
	if sp.image {
		cmd.WaitOutput = s.o.Grace
	}
	p, err := v.inst.Start(context.WithoutCancel(s.tasks.Context()), cmd)
	if err != nil {
		s.streamNotStarted(sp, o, err)
		return
	}
	defer s.tasks.Track(p)()
	e := s.tasks.Watch(p)
	var timeout <-chan time.Time
	if sp.timeout != nil {
		timeout = time.After(task.Seconds(*sp.timeout))
	}
	exited, late := e.Exited, false
	for {
		select {
		case <-full:
			full = nil
			task.Kill(p, sim.ReachSelf)
		case <-timeout:
			timeout, late = nil, true
			task.Kill(p, sim.ReachSelf)
		case <-exited:
			if exited, timeout = nil, nil; late { // what it started may hold the output for ever
				o.end(exitEvent(124))
				return
			}
		case r := <-e.Waited:
			switch {
			case r.Err != nil:
				o.end(setupError(sp, "connection to the agent lost: "+r.Err.Error()))
			case late:
				o.end(exitEvent(124))
			default:
				v.prove()
				o.end(exitEvent(r.Code))
			}
			return
		}
	}
}

func exitEvent(code int) feed.Event {
	return feed.Event{Name: "exit", Data: fmt.Sprintf(`{"exitCode":%d}`, code)}
}

// setupError is an error event. Its message is not escaped as JSON asks for, only quoted for debugging inside.
func setupError(sp *spec, text string) feed.Event {
	inner := serde.Quote("agent operation failed: " + sp.op + ": " + text)
	return feed.Event{Name: "error", Data: `{"message":"Internal(` + inner + `)"}`}
}

// streamNotStarted tells of a command that the guest did not start: in a container as the runtime does, by its own output.
func (s *Server) streamNotStarted(sp *spec, o *output, err error) {
	reply, failure := sp.notStarted(err)
	var api *apiError
	if errors.As(failure, &api) {
		o.end(feed.Event{Name: "error", Data: `{"message":"Internal(` + serde.Quote(api.text) + `)"}`})
		return
	}
	o.write("stderr", []byte(reply.Stderr))
	o.end(exitEvent(reply.ExitCode))
}
