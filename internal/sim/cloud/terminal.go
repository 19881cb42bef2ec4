package cloud

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/tty"
)

// The times of a terminal: how long what it still holds is waited for once its command has ended, how often its client is asked for a sign
// of life and how long it may take for one, and how long a connection lasts.
const (
	terminalRest = 100 * time.Millisecond
	pingEvery    = 30 * time.Second
	pingLimit    = 90 * time.Second
	terminalLife = time.Hour
)

type terminalQuery struct {
	Cmd  *string `serde:"cmd|command"`
	Cols *uint16 `serde:"cols"`
	Rows *uint16 `serde:"rows"`
}

// terminal runs one program on a terminal that is a WebSocket.
func (c *call) terminal() (any, error) {
	var q terminalQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	if err := c.checkUpgrade(); err != nil {
		return nil, err
	}
	m, v, end, err := c.ready()
	if err != nil {
		return nil, err
	}
	defer end()
	ws, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil, nil // it has been answered
	}
	ctx, cancel := context.WithTimeout(c.tasks.Context(), terminalLife)
	defer cancel()
	t := tty.New(ctx, ws)
	defer t.Close()
	c.tasks.Go(func() { keepAlive(ctx, ws) })
	ended := make(chan struct{})
	c.tasks.Go(func() {
		defer close(ended)
		if _, err := t.Run(c.tasks, v.inst, m.terminalCommand(v, &q)); err != nil {
			c.o.Log.Warn("terminal not started", "machine", m.id, "err", err)
		}
	})
	<-ended
	return nil, nil
}

func (m *machine) terminalCommand(v *vm, q *terminalQuery) *sim.Command {
	sp := m.spec(v, &machineCommandRequest{Command: commandSpec{[]string{valueOr(q.Cmd, "/bin/sh")}}})
	return &sim.Command{
		Argv: sp.argv, Env: environ.Overlay(sp.env, []string{environ.Term}), Dir: sp.dir, User: sp.user, Tied: true, WaitOutput: terminalRest,
		Rows: int(valueOr(q.Rows, 24)), Cols: int(valueOr(q.Cols, 80)),
	}
}

// keepAlive cuts a connection whose client gives no sign of life.
func keepAlive(ctx context.Context, ws *websocket.Conn) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, pingLimit)
		err := ws.Ping(limited)
		cancel()
		if err != nil {
			_ = ws.CloseNow()
			return
		}
	}
}
