package cloud

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/internal/lossy"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/feed"
)

// chunkSize is the most that one event carries of a command's output.
const chunkSize = 4096

// output turns a command's output into events.
type output struct {
	events chan feed.Event
	// gone is closed when nobody reads the events any more.
	gone <-chan struct{}

	mu    sync.Mutex
	ended bool
}

// emit sends an event if somebody still reads. The sender is held up by a slow reader.
func (o *output) emit(e feed.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	select {
	case o.events <- e:
	case <-o.gone:
	}
}

// end sends the terminal event; only the first counts, and no output comes after it.
func (o *output) end(e feed.Event) {
	o.emit(e)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.ended = true
		close(o.events)
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
		c.o.emit(feed.Event{Name: c.name, Data: lossy.String(rest[:n])})
		rest = rest[n:]
	}
	return len(p), nil
}

// stream runs a command whose output is sent as it comes. It runs on without a reader.
func (c *call) stream(req *machineCommandRequest) (any, error) {
	m, v, end, err := c.ready()
	if err != nil {
		return nil, err
	}
	sp := m.spec(v, req)
	gone := make(chan struct{})
	defer close(gone)
	o := &output{events: make(chan feed.Event), gone: gone}
	c.tasks.Go(func() {
		defer end()
		c.runStream(v, sp, o)
	})
	feed.Send(c.tasks.Context(), c.w, c.r, o.events, c.o.KeepAlive)
	return nil, nil
}

// runStream runs the command to its end.
func (s *Server) runStream(v *vm, sp *spec, o *output) {
	cmd := &sim.Command{
		Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user, Stdout: channel{o, "stdout"}, Stderr: channel{o, "stderr"}, Tied: true,
		WaitOutput: s.o.Grace,
	}
	if sp.stdin != nil {
		cmd.Stdin = strings.NewReader(*sp.stdin)
	}
	p, err := v.inst.Start(context.WithoutCancel(s.tasks.Context()), cmd)
	if err != nil {
		text, err := sp.notStarted(err)
		if err != nil {
			o.end(feed.Event{Name: "error", Data: err.Error()})
			return
		}
		o.emit(feed.Event{Name: "stderr", Data: text})
		o.end(exitEvent(codeNotFound))
		return
	}
	defer s.tasks.Track(p)()
	code, err := s.finish(p, sp)
	if err != nil {
		o.end(feed.Event{Name: "error", Data: err.Error()})
		return
	}
	o.end(exitEvent(code))
}

func exitEvent(code int) feed.Event {
	return feed.Event{Name: "exit", Data: fmt.Sprintf(`{"exitCode":%d}`, code)}
}
