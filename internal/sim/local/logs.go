package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/internal/lossy"
	"github.com/smol-machines/smol-go/internal/sim/feed"
)

const (
	// logRead is the most that one read of a console returns.
	logRead = 64 << 10
	// maxTail is the most lines to ask for, maxFollowers the most followers of a server.
	maxTail      = 10000
	maxFollowers = 16
	// longLine is from when on a line without an end is passed on while following.
	longLine = 1 << 20
)

type logsQuery struct {
	Follow bool    `serde:"follow,default"`
	Tail   *uint   `serde:"tail"`
	Format *string `serde:"format"`
}

func (c *call) logs() (any, error) {
	var q logsQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	f, err := c.openLog(&q)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if q.Follow {
		if c.follows.Add(1) > maxFollowers {
			c.follows.Add(-1)
			return nil, conflict("too many concurrent log followers")
		}
		defer c.follows.Add(-1)
	}
	l := &logReader{f: f, json: q.Format != nil && *q.Format == "json", out: make(chan feed.Event), stop: make(chan struct{})}
	var first [][]byte
	if q.Tail != nil {
		if first, err = l.tail(int(*q.Tail)); err != nil {
			return nil, err
		}
	}
	ended := make(chan struct{})
	c.tasks.Go(func() {
		defer close(ended)
		defer close(l.out)
		l.run(first, &q, c.o.LogPoll)
	})
	feed.Send(c.tasks.Context(), c.w, c.r, l.out, c.o.KeepAlive)
	close(l.stop)
	<-ended
	return nil, nil
}

// openLog does the checks before the followers are counted.
func (c *call) openLog(q *logsQuery) (*os.File, error) {
	m, err := c.find(c.params["name"])
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	registered := m.registered
	m.mu.Unlock()
	if !registered {
		return nil, notFound("machine '%s' has not been started yet — no logs available", m.name)
	}
	f, err := os.Open(c.store.Console(m.name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, notFound("machine '%s' has no logs yet — it may not have been started", m.name)
	}
	if err != nil {
		return nil, internal("io operation failed: %v", err)
	}
	if q.Tail != nil && *q.Tail > maxTail {
		f.Close()
		return nil, badRequest("tail value %d exceeds maximum of %d", *q.Tail, maxTail)
	}
	return f, nil
}

// logReader turns a console into events, a line each.
type logReader struct {
	f      *os.File
	offset int64
	json   bool
	out    chan feed.Event
	stop   chan struct{}
	rest   []byte // of a line without its end
}

// tail returns the last n lines and goes to the end.
func (l *logReader) tail(n int) ([][]byte, error) {
	b, err := io.ReadAll(l.f)
	switch {
	case err != nil:
		return nil, internal("io operation failed: %v", err)
	case !utf8.Valid(b):
		return nil, internal("io operation failed: stream did not contain valid UTF-8")
	}
	l.offset = int64(len(b))
	lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	if len(b) == 0 {
		lines = nil
	}
	return lines[max(0, len(lines)-n):], nil
}

// send passes a line on, and reports whether somebody still reads.
func (l *logReader) send(line []byte, whole bool) bool {
	if whole && l.json && !json.Valid(line) {
		return true
	}
	select {
	case l.out <- feed.Event{Data: lossy.String(bytes.TrimSuffix(line, []byte("\r")))}:
		return true
	case <-l.stop:
		return false
	}
}

// run sends the lines that are there and, when following, those that come.
func (l *logReader) run(first [][]byte, q *logsQuery, poll time.Duration) {
	for _, line := range first {
		if !l.send(line, true) {
			return
		}
	}
	if !q.Follow {
		if q.Tail == nil && l.more() && len(l.rest) > 0 {
			l.send(l.rest, false)
		}
		return
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for l.more() {
		if len(l.rest) > longLine {
			if !l.send(l.rest, false) {
				return
			}
			l.rest = nil
		}
		select {
		case <-ticker.C:
		case <-l.stop:
			return
		}
	}
}

// more sends the lines in the next part of the file. It returns false when there is no use in going on.
func (l *logReader) more() bool {
	b := make([]byte, logRead)
	n, err := l.f.ReadAt(b, l.offset)
	if err != nil && err != io.EOF {
		l.send([]byte("error: "+err.Error()), false)
		return false
	}
	l.offset += int64(n)
	l.rest = append(l.rest, b[:n]...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return true
		}
		l.rest = rest
		if !l.send(line, true) {
			return false
		}
	}
}

// AppendConsole adds text to the console log of a machine, as its kernel or its agent would. It creates the log of a machine that was
// never started.
func (s *Server) AppendConsole(name, text string) error {
	if _, err := s.find(name); err != nil {
		return err
	}
	f, err := os.OpenFile(s.store.Console(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
