package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// held is a fleet whose machines are only told of once the test lets them.
type held struct {
	deadBackend
	asked chan string
	free  chan struct{}
}

func newHeld() *held { return &held{asked: make(chan string, 2000), free: make(chan struct{})} }

// Inspect waits for the test, or for the end of the call.
func (h *held) Inspect(ctx context.Context, id string) (*smol.Info, error) {
	h.asked <- id
	select {
	case <-h.free:
		return &smol.Info{Name: id, ID: id, State: smol.StateRunning}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wire is a server over pipes, spoken to in lines.
type wire struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *io.PipeReader
	lines  chan string // nil: nobody reads
	served chan error
}

// over serves s over pipes until the input ends.
func over(t *testing.T, s *mcpserver.Server, read bool) *wire {
	t.Helper()
	return overUntil(t.Context(), t, s, read)
}

// overUntil serves s over pipes until the input ends, or ctx.
func overUntil(ctx context.Context, t *testing.T, s *mcpserver.Server, read bool) *wire {
	t.Helper()
	r, in := io.Pipe()
	out, w := io.Pipe()
	c := &wire{t: t, in: in, out: out, served: make(chan error, 1)}
	go func() {
		err := s.Serve(ctx, mcpserver.Stdio(r, w))
		w.Close()
		c.served <- err
	}()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		r.Close()
	})
	if read {
		c.read()
	}
	return c
}

func (c *wire) read() {
	c.lines = make(chan string, 1<<15)
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(c.out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
}

func (c *wire) send(format string, a ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", a...); err != nil {
		c.t.Fatal(err)
	}
}

// call sends a call of get-machine.
func (c *wire) call(id string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"get-machine","arguments":{"name":"box"}}}`, id)
}

// reply is an answer, or a question.
type reply struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
	}
	line string
}

func (c *wire) reply() *reply {
	c.t.Helper()
	line, ok := <-c.lines
	if !ok {
		c.t.Fatal("the output has ended")
	}
	m := &reply{line: line}
	if err := json.Unmarshal([]byte(line), m); err != nil || m.JSONRPC != "2.0" {
		c.t.Fatalf("%v: %q", err, line)
	}
	return m
}

func (c *wire) initialize(version, capabilities string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"test","version":"1"}}}`, version, capabilities)
	if m := c.reply(); string(m.ID) != `"init"` || !strings.Contains(string(m.Result), version) {
		c.t.Fatalf("initialize: %s", m.line)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// ended waits for the end of the server, which is no error.
func (c *wire) ended() {
	c.t.Helper()
	if err := <-c.served; err != nil {
		c.t.Errorf("serve: %v", err)
	}
}
