package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/sim"
)

type interactiveQuery struct {
	Cmd  *string `serde:"cmd"`
	Cols *uint16 `serde:"cols"`
	Rows *uint16 `serde:"rows"`
}

// terminalRest is how long what a terminal still holds is waited for once its command has ended.
const terminalRest = 100 * time.Millisecond

// checkUpgrade refuses what is no WebSocket handshake, as the framework words it.
func checkUpgrade(r *http.Request) error {
	has := func(name, want string) bool {
		return strings.Contains(strings.ToLower(r.Header.Get(name)), want)
	}
	switch {
	case r.Method != http.MethodGet:
		return &rejection{http.StatusMethodNotAllowed, "Request method must be `GET`"}
	case !has("Connection", "upgrade"):
		return &rejection{http.StatusBadRequest, "Connection header did not include 'upgrade'"}
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return &rejection{http.StatusBadRequest, "`Upgrade` header did not include 'websocket'"}
	case r.Header.Get("Sec-WebSocket-Key") == "":
		return &rejection{http.StatusBadRequest, "`Sec-WebSocket-Key` header missing"}
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return &rejection{http.StatusBadRequest, "`Sec-WebSocket-Version` header did not include '13'"}
	}
	return nil
}

// interactive runs one program on a terminal that is a WebSocket.
func (c *call) interactive() (any, error) {
	var q interactiveQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	if err := checkUpgrade(c.r); err != nil {
		return nil, err
	}
	m, v, err := c.ready()
	if err != nil {
		return nil, err
	}
	defer v.disconnect()
	conn, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil, nil // it has been answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(64 << 20)
	t := &terminal{conn: conn}
	t.ctx, t.cancel = context.WithCancel(c.Server.ctx)
	defer t.cancel()
	cmd := m.terminalCommand(v, &q)
	cmd.Stdin, cmd.Stdout = &t.input, t
	ended := make(chan int, 1)
	c.background(func() { ended <- c.session(v, cmd, t) })
	code := <-ended
	text := fmt.Sprintf(`{"type":"exit","code":%d}`, code)
	if conn.Write(t.ctx, websocket.MessageText, []byte(text)) == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
	return nil, nil
}

func (m *machine) terminalCommand(v *vm, q *interactiveQuery) *sim.Command {
	sp := m.spec(v, []string{valueOr(q.Cmd, "/bin/sh")}, []string{defaultTerm}, "")
	return &sim.Command{
		Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user, Tied: true, WaitOutput: terminalRest,
		TTY: true, Rows: int(valueOr(q.Rows, 24)), Cols: int(valueOr(q.Cols, 80)),
	}
}

// session runs the command until it ends or the socket closes, which kills it. The code is -1 for a failure of ours, 130 for a disconnect.
func (s *Server) session(v *vm, cmd *sim.Command, t *terminal) int {
	defer t.input.close()
	p, err := v.inst.Start(t.ctx, cmd)
	if err != nil {
		s.o.Log.Warn("interactive command not started", "err", err)
		return -1
	}
	defer s.track(p)()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		t.listen(p)
	}()
	e := s.watch(p)
	code := 130
	select {
	case r := <-e.waited:
		if code = r.code; r.err != nil {
			code = -1
		}
	case <-gone:
		_ = p.Signal(9)
		t.cancel() // output has nowhere to go
		<-e.waited
	case <-t.ctx.Done():
		_ = p.Signal(9)
		<-e.waited
	}
	return code
}

// terminal is the socket's side of a session. It is the command's output.
type terminal struct {
	conn   *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	input  inbox
}

func (t *terminal) Write(p []byte) (int, error) {
	if err := t.conn.Write(t.ctx, websocket.MessageBinary, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// listen takes what the client sends until the socket closes or the command has ended.
func (t *terminal) listen(p sim.Process) {
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

// inbox is input that waits for a command to read it, so that a command that does not read cannot hide that the client has gone. Its zero
// value is empty and open.
type inbox struct {
	mu     sync.Mutex
	news   chan struct{}
	b      []byte
	closed bool
}

// wake lets a waiting reader look again. mu is held.
func (i *inbox) wake() {
	if i.news != nil {
		close(i.news)
		i.news = nil
	}
}

func (i *inbox) put(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.b = append(i.b, b...)
	i.wake()
}

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.wake()
}

// Read waits for input.
func (i *inbox) Read(p []byte) (int, error) {
	for {
		i.mu.Lock()
		if n := copy(p, i.b); n > 0 || len(p) == 0 {
			i.b = i.b[n:]
			i.mu.Unlock()
			return n, nil
		}
		if i.closed {
			i.mu.Unlock()
			return 0, io.EOF
		}
		if i.news == nil {
			i.news = make(chan struct{})
		}
		news := i.news
		i.mu.Unlock()
		<-news
	}
}
