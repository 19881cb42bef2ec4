package mcpserver

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// errStreamClosed is the error of what is written too late.
var errStreamClosed = errors.New("the stream to the client is closed")

// maxUnread is how many bytes are kept for a client that does not read; then answers, and calls, wait.
const maxUnread = 16 << 20

// lineWriter writes lines in the background, so that a client may send all its calls before it reads the first answer.
type lineWriter struct {
	w    io.Writer
	done chan struct{} // closed when nothing will be written any more

	mu      sync.Mutex
	changed *sync.Cond
	buf     bytes.Buffer
	busy    bool
	closed  bool  // nothing more is taken
	err     error // nothing more is written
}

func newLineWriter(w io.Writer) *lineWriter {
	o := &lineWriter{w: w, done: make(chan struct{})}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// write takes a line.
func (o *lineWriter) write(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.buf.Len() > maxUnread && o.err == nil && !o.closed {
		o.changed.Wait()
	}
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return errStreamClosed
	}
	o.buf.Write(line)
	o.buf.WriteByte('\n')
	o.changed.Broadcast()
	return nil
}

// run writes until the writer is finished, or cannot write any more.
func (o *lineWriter) run() {
	defer close(o.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil {
		for o.buf.Len() == 0 && !o.closed && o.err == nil {
			o.changed.Wait()
		}
		if o.buf.Len() == 0 {
			return
		}
		data := bytes.Clone(o.buf.Bytes())
		if o.buf.Reset(); o.buf.Cap() > 1<<20 {
			o.buf = bytes.Buffer{}
		}
		o.busy = true
		o.changed.Broadcast()
		o.mu.Unlock()
		_, err := o.w.Write(data)
		o.mu.Lock()
		if o.busy = false; err != nil {
			o.err = err
		}
		o.changed.Broadcast()
	}
}

// flush waits until all is written that can be.
func (o *lineWriter) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for (o.buf.Len() > 0 || o.busy) && o.err == nil {
		o.changed.Wait()
	}
}

// finish takes no more lines, and gives those that were taken a second.
func (o *lineWriter) finish() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.changed.Broadcast()
	select {
	case <-o.done:
	case <-time.After(time.Second):
	}
}

// expire gives up what is not written, because nobody reads it.
func (o *lineWriter) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && (o.busy || o.buf.Len() > 0) {
		o.err = errStreamClosed
	}
	o.changed.Broadcast()
}
