package local

import (
	"io"
	"net/http"
	"time"
)

// event is one of an event stream; an empty name is left out.
type event struct{ name, data string }

// encode writes each line of the data behind a prefix. A carriage return is passed through as a line end of the payload, and empty data has no
// line at all: readers must live with both.
func (e event) encode() []byte {
	var b []byte
	if e.name != "" {
		b = append(b, "event: "+e.name+"\n"...)
	}
	if e.data != "" {
		b = append(b, "data: "...)
		for i := range len(e.data) {
			b = append(b, e.data[i])
			if e.data[i] == '\n' || e.data[i] == '\r' {
				b = append(b, "data: "...)
			}
		}
		b = append(b, '\n')
	}
	return append(b, '\n')
}

// events sends what comes from in until it is closed, with comments while nothing does. It returns early if the client or the server goes.
func (c *call) events(in <-chan event) {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	c.w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(c.w).Flush
	_ = flush()
	if c.r.Method == http.MethodHead {
		return
	}
	idle := time.NewTimer(c.o.KeepAlive)
	defer idle.Stop()
	for {
		var err error
		select {
		case e, more := <-in:
			if !more {
				return
			}
			_, err = c.w.Write(e.encode())
		case <-idle.C:
			_, err = io.WriteString(c.w, ":\n\n")
		case <-c.r.Context().Done():
			return
		case <-c.Server.ctx.Done():
			return
		}
		if err == nil {
			err = flush()
		}
		if err != nil {
			return
		}
		idle.Reset(c.o.KeepAlive)
	}
}
