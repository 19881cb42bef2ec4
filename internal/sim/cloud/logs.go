package cloud

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/smol-machines/smol-go/internal/lossy"
)

type logsQuery struct {
	Follow bool    `serde:"follow,default"`
	Tail   *uint64 `serde:"tail"`
}

// logs sends the console, or its end, line by line, and then what comes, if that is asked for, until the machine does not run any more.
func (c *call) logs() (any, error) {
	var q logsQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(c.store.Console(m.id))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	defer f.Close() // nil: it was never started
	var all []byte
	if f != nil {
		if all, err = io.ReadAll(f); err != nil {
			return nil, err
		}
	}
	l := &logWriter{call: c, flush: http.NewResponseController(c.w).Flush}
	h := c.w.Header()
	if h.Set("Content-Type", "text/event-stream"); c.o.PlainLogs {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil, nil
	}
	l.add(lastLines(all, q.Tail))
	if q.Follow && f != nil {
		l.follow(m, f)
	}
	l.rest()
	return nil, nil
}

// lastLines returns the last lines of b, all of them if n is nil.
func lastLines(b []byte, n *uint64) []byte {
	if n == nil {
		return b
	}
	if *n == 0 {
		return nil
	}
	end := len(bytes.TrimSuffix(b, []byte("\n")))
	for i, left := end-1, *n; i >= 0; i-- {
		if b[i] == '\n' {
			if left--; left == 0 {
				return b[i+1:]
			}
		}
	}
	return b
}

// logWriter sends lines.
type logWriter struct {
	*call
	flush func() error
	part  []byte // of a line without its end
	err   error
}

// add takes a piece of the console and sends the lines that are whole.
func (l *logWriter) add(b []byte) {
	l.part = append(l.part, b...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			break
		}
		l.send(line)
		l.part = rest
	}
	if l.err == nil {
		l.err = l.flush()
	}
}

func (l *logWriter) send(line []byte) {
	text := lossy.String(bytes.TrimSuffix(line, []byte("\r")))
	if l.o.PlainLogs {
		text += "\n"
	} else {
		text = "data: " + text + "\n\n"
	}
	if l.err == nil {
		_, l.err = io.WriteString(l.w, text)
	}
}

// rest sends a last line that has no end.
func (l *logWriter) rest() {
	if len(l.part) > 0 {
		l.send(l.part)
	}
}

// follow sends what the console gets as long as the machine runs and somebody reads.
func (l *logWriter) follow(m *machine, f *os.File) {
	t := time.NewTicker(l.o.LogPoll)
	defer t.Stop()
	for l.err == nil {
		_, v := m.snapshot() // before the last look, so that nothing is missed
		b, err := io.ReadAll(f)
		if err != nil {
			return
		}
		if len(b) > 0 {
			l.add(b)
		}
		if v == nil {
			return
		}
		select {
		case <-t.C:
		case <-v.inst.Done():
		case <-l.ctx.Done():
			return
		}
	}
}

// AppendConsole adds text to the console of a machine, named by its id or its name, as its kernel would.
func (s *Server) AppendConsole(ref, text string) error {
	m, err := s.lookupRef(ref)
	if err != nil {
		return err
	}
	if err := s.store.Prepare(m.id); err != nil {
		return err
	}
	f, err := os.OpenFile(s.store.Console(m.id), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
