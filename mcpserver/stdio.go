package mcpserver

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine is the most bytes of a message that is read.
	maxLine = 16 << 20
	// maxPending and maxPendingBytes are how many calls may be without an answer, and how many bytes they may have, before nothing more is
	// read. More calls than the gate lets wait are answered at once, so it is the bytes that hold a client back, or that it does not read.
	maxPending, maxPendingBytes = 1024, 64 << 20
	// maxListens is how many calls may be there that have no end of their own.
	maxListens = 64
	// drainBound is how long calls may go on after the end; what is left of the bound of a shutdown is for the machines.
	drainBound = shutdownBound - 4*time.Second
)

// Stdio returns the transport of one client over a pair of streams, one message a line; it can be connected once. Unlike the transport of
// the SDK it answers what is no message and reads on, and at the end of its input the calls that are under way have six seconds to be
// answered. The streams are closed by whoever opened them, and a read that is under way then goes on until it returns.
func Stdio(r io.Reader, w io.Writer) mcp.Transport {
	c := &lines{
		r: r, out: newLineWriter(w), in: make(chan jsonrpc.Message), over: make(chan struct{}), eof: make(chan struct{}), shut: make(chan struct{}),
		ending: func() {}, cancel: func() {},
	}
	c.changed = sync.NewCond(&c.mu)
	c.pending, c.asked = map[jsonrpc.ID]*pendingCall{}, map[jsonrpc.ID]bool{}
	return c
}

// lines is a transport and its connection.
type lines struct {
	r    io.Reader
	out  *lineWriter
	in   chan jsonrpc.Message // to the SDK
	over chan struct{}        // closed by leave
	eof  chan struct{}        // closed after the last message, once what is due is answered
	shut chan struct{}        // closed by Close

	ending func() // called when the input ends or is left
	cancel func() // called when the calls under way have had their time: being cancelled is then their answer
	left   sync.Once

	mu      sync.Mutex
	changed *sync.Cond
	closed  bool
	late    bool // the time for answers is over
	pending map[jsonrpc.ID]*pendingCall
	bytes   int // of pending
	listens int // of pending
	answers int // being written
	asked   map[jsonrpc.ID]bool
	version string // of the protocol, once one was agreed on
}

// pendingCall is a call that was read and has no answer yet.
type pendingCall struct {
	method string
	bytes  int
	batch  *batch // nil: it came alone
}

const methodListen = "subscriptions/listen"

// Connect begins to read and write.
func (c *lines) Connect(context.Context) (mcp.Connection, error) {
	go c.out.run()
	go c.run()
	return c, nil
}

// leave makes the input end now, whatever its sender does: what is under way is answered, and then the connection ends.
func (c *lines) leave() { c.left.Do(func() { close(c.over) }) }

// SessionID returns "": there is one session.
func (c *lines) SessionID() string { return "" }

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.in:
		return msg, nil
	case <-c.eof:
		return nil, io.EOF
	case <-c.shut:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Write takes a message; that it could not be written is the error of a later one.
func (c *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	if m, ok := msg.(*jsonrpc.Response); ok && m.Error != nil {
		m.Error = coded(m.Error)
	}
	data, err := encodeMessage(msg)
	if err != nil {
		return err
	}
	switch m := msg.(type) {
	case *jsonrpc.Response:
		return c.answer(m, data)
	case *jsonrpc.Request:
		if m.IsCall() {
			c.mu.Lock()
			c.asked[m.ID] = true
			c.mu.Unlock()
			defer c.changed.Broadcast() // after the end of the input nobody will answer it
		}
	}
	return c.out.write(data)
}

// Close ends the connection. What was taken is still written, if the client reads it within a second.
func (c *lines) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	c.changed.Broadcast()
	if !again {
		close(c.shut)
		c.out.finish()
	}
	return nil
}
