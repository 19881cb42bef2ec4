package local

import (
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/tty"
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
	t := tty.New(c.tasks.Context(), conn)
	defer t.Close()
	ended := make(chan struct{})
	c.tasks.Go(func() {
		defer close(ended)
		if _, err := t.Run(c.tasks, v.inst, m.terminalCommand(v, &q)); err != nil {
			c.o.Log.Warn("interactive command not started", "err", err)
		}
	})
	<-ended
	return nil, nil
}

func (m *machine) terminalCommand(v *vm, q *interactiveQuery) *sim.Command {
	sp := m.spec(v, []string{valueOr(q.Cmd, "/bin/sh")}, []string{environ.Term}, "")
	return &sim.Command{
		Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user, Tied: true, WaitOutput: terminalRest,
		Rows: int(valueOr(q.Rows, 24)), Cols: int(valueOr(q.Cols, 80)),
	}
}
