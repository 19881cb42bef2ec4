// Package tty is a terminal that is a WebSocket, as the services have it: binary frames are bytes of the terminal, text frames from the client
// are keystrokes or a JSON message for a new size or for input, and the last text frame tells the exit code.
package tty

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// The codes of sessions whose command has none.
const (
	// Failed: it was not started, or its machine went away.
	Failed = -1
	// HungUp: the client went first.
	HungUp = 130
)

// Terminal is the socket's side of a session. It is the output of the command.
type Terminal struct {
	conn   *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	input  inbox
}

// New returns the terminal of an accepted socket. It ends with ctx, and must be closed.
func New(ctx context.Context, conn *websocket.Conn) *Terminal {
	conn.SetReadLimit(64 << 20)
	t := &Terminal{conn: conn}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// Close cuts the connection if it is still there.
func (t *Terminal) Close() {
	t.cancel()
	_ = t.conn.CloseNow()
}

// Write sends output.
func (t *Terminal) Write(p []byte) (int, error) {
	if err := t.conn.Write(t.ctx, websocket.MessageBinary, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Run runs the command on the terminal until it ends or the socket closes, which kills it, and tells the client how it ended. The error, with
// the code [Failed], says why it was not started.
func (t *Terminal) Run(g *task.Group, inst sim.Instance, cmd *sim.Command) (int, error) {
	cmd.Stdin, cmd.Stdout, cmd.TTY = &t.input, t, true
	code, err := t.session(g, inst, cmd)
	text := fmt.Sprintf(`{"type":"exit","code":%d}`, code)
	if t.conn.Write(t.ctx, websocket.MessageText, []byte(text)) == nil {
		_ = t.conn.Close(websocket.StatusNormalClosure, "")
	}
	return code, err
}

func (t *Terminal) session(g *task.Group, inst sim.Instance, cmd *sim.Command) (int, error) {
	defer t.input.close()
	p, err := inst.Start(t.ctx, cmd)
	if err != nil {
		return Failed, err
	}
	defer g.Track(p)()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		t.listen(p)
	}()
	e := g.Watch(p)
	select {
	case r := <-e.Waited:
		if r.Err != nil {
			return Failed, nil
		}
		return r.Code, nil
	case <-gone:
		_ = p.Signal(9)
		t.cancel() // output has nowhere to go
	case <-t.ctx.Done():
		_ = p.Signal(9)
	}
	<-e.Waited
	return HungUp, nil
}

// listen takes what the client sends until the socket closes or the command has ended.
func (t *Terminal) listen(p sim.Process) {
	for {
		kind, b, err := t.conn.Read(t.ctx)
		if err != nil {
			return
		}
		var msg struct {
			Type       string
			Data       *string
			Cols, Rows uint16
		}
		switch {
		case kind == websocket.MessageText && json.Unmarshal(b, &msg) == nil && msg.Type == "resize":
			_ = p.Resize(int(msg.Rows), int(msg.Cols))
			continue
		case kind == websocket.MessageText && msg.Type == "stdin" && msg.Data != nil:
			b = []byte(*msg.Data)
		}
		if len(b) == 0 { // the end of the input
			b = []byte{4, 4}
		}
		t.input.put(b)
	}
}
