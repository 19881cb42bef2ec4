package tty

import (
	"io"
	"sync"
)

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
