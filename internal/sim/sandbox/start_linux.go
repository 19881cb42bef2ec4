package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
)

// maxArgs bounds the argument and environment bytes of a command: those of a message, in which they are a third longer.
const maxArgs = maxFrame/4*3 - 64<<10

// The size of a terminal that nobody gave one.
const (
	defaultRows = 24
	defaultCols = 80
)

// Start starts a command; the context bounds only this call. A tied command lives no longer than its caller: when this program ends
// or lets go of the instance, its process group is killed. Pipes and terminals belong to the machine, so that a command can open them
// again as /dev/stdout; a file that is handed over belongs to the host, and cannot be opened again there.
func (m *instance) Start(ctx context.Context, c *sim.Command) (sim.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req, err := startMessage(c)
	if err != nil {
		return nil, err
	}
	s, files, err := planStreams(c)
	if err != nil {
		return nil, err
	}
	req.Streams = s.kinds
	conn, r, got, err := m.ask(ctx, &request{Op: opStart, Start: req}, files...)
	runtime.KeepAlive(c) // its files were open until they had been passed on
	if err != nil {
		return nil, err
	}
	if err := s.use(got, c); err != nil {
		closeAll(got)
		m.hangUp(conn)
		return nil, fmt.Errorf("%s: %w", m.state.path, err)
	}
	if !c.Tied {
		// Only now: a command that nobody knows of, because this call was cancelled meanwhile, must not run on. It may have
		// ended by now; what else there can be wrong with the connection, follow finds out.
		_ = writeFrame(conn, &request{Op: opKeep})
	}
	p := &process{machine: m, id: r.ID, pid: r.PID, streams: s, ended: make(chan struct{}), waitOutput: c.WaitOutput}
	s.copy()
	go p.follow(conn)
	return p, nil
}

func startMessage(c *sim.Command) (*startRequest, error) {
	if len(c.Argv) == 0 {
		return nil, errNoCommand
	}
	size := 0
	for _, field := range []struct {
		name   string
		values []string
	}{{"argument", c.Argv}, {"environment", c.Env}, {"directory", []string{c.Dir}}, {"user", []string{c.User}}} {
		for _, v := range field.values {
			if size += len(v) + 1; size > maxArgs {
				return nil, fmt.Errorf("%s: %w", field.name, unix.E2BIG)
			}
			if strings.ContainsRune(v, 0) {
				return nil, fmt.Errorf("%s %q has a NUL byte in it: %w", field.name, v, unix.EINVAL)
			}
		}
	}
	req := &startRequest{
		Argv: toBytes(c.Argv), Env: toBytes(c.Env), DefaultEnv: c.Env == nil,
		Dir: []byte(c.Dir), User: []byte(c.User),
		TTY: c.TTY, Rows: defaultRows, Cols: defaultCols,
	}
	if c.Rows > 0 && c.Cols > 0 {
		req.Rows, req.Cols = cells(c.Rows), cells(c.Cols)
	}
	return req, nil
}

// cells makes a number of rows or columns one that a terminal can have.
func cells(n int) uint16 { return uint16(min(max(n, 0), 0xffff)) }

func toBytes(s []string) [][]byte {
	bytes := make([][]byte, len(s))
	for i := range s {
		bytes[i] = []byte(s[i])
	}
	return bytes
}
