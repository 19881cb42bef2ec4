package local

import (
	"io"
	"sync"

	"github.com/smol-machines/smol-go/internal/sim/task"
)

// outputCap is how much of a stream of a command's output a reply may hold.
const outputCap = 11 << 20

// capture keeps a command's output up to the cap. Beyond it a bare machine's is read and dropped, an image machine's is not read any more.
type capture struct {
	image bool
	// gate, unless nil, holds up all output until it is closed.
	gate <-chan struct{}

	mu   sync.Mutex
	b    []byte
	over bool
}

func (c *capture) Write(p []byte) (int, error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	room := outputCap - len(c.b)
	if len(p) <= room {
		c.b = append(c.b, p...)
		return len(p), nil
	}
	c.b = append(c.b, p[:room]...)
	c.over = true
	if c.image {
		return room, task.ErrFull
	}
	return len(p), nil
}

// take returns what was kept, and whether there was more. Output that comes later does not touch it.
func (c *capture) take() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b[:len(c.b):len(c.b)], c.over
}

// feeder gives a command its standard input and tells when all of it has been taken.
type feeder struct {
	r    io.Reader
	done func()
}

func (f *feeder) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil {
		f.done()
	}
	return n, err
}
