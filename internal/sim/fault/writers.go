package fault

import (
	"io"
	"net/http"
	"sync"
)

// nowhere takes a reply that nobody gets.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) Flush()                      {}

// garbler changes every byte of the body. No text stays text, and no JSON stays JSON.
type garbler struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (g garbler) Unwrap() http.ResponseWriter { return g.ResponseWriter }

func (g garbler) Write(p []byte) (int, error) {
	b := make([]byte, len(p))
	for i, c := range p {
		b[i] = c ^ 0xA5
	}
	return g.ResponseWriter.Write(b)
}

// cutter lets left bytes of the body through and then closes the connection, from whatever goroutine the body is written.
type cutter struct {
	http.ResponseWriter
	mu   sync.Mutex
	left int64
	over bool
}

// Unwrap is for http.ResponseController.
func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return 0, io.ErrClosedPipe
	}
	n := min(int64(len(p)), c.left)
	written, err := c.ResponseWriter.Write(p[:n])
	c.left -= int64(written)
	if err == nil && int64(len(p)) > n {
		c.close()
		err = io.ErrClosedPipe
	}
	return written, err
}

// cut closes the connection of a reply that was not long enough to be cut before.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.close()
	}
}

// close sends what was let through and closes the connection.
func (c *cutter) close() {
	c.over = true
	rc := http.NewResponseController(c.ResponseWriter)
	_ = rc.Flush()
	conn, _, err := rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // what was sent arrives even if something of the request is unread
	}
	conn.Close()
}
