// Package feed writes streams of server-sent events as the services do.
package feed

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Event is one of an event stream; an empty name is left out.
type Event struct{ Name, Data string }

// Encode writes each line of the data behind a prefix. A carriage return is passed through as a line end of the payload, and empty data
// has no line at all: readers must live with both.
func (e Event) Encode() []byte {
	var b []byte
	if e.Name != "" {
		b = append(b, "event: "+e.Name+"\n"...)
	}
	if e.Data != "" {
		b = append(b, "data: "...)
		for i := range len(e.Data) {
			b = append(b, e.Data[i])
			if e.Data[i] == '\n' || e.Data[i] == '\r' {
				b = append(b, "data: "...)
			}
		}
		b = append(b, '\n')
	}
	return append(b, '\n')
}

// Send answers a request with what comes from in until it is closed, and with comments while nothing has come for the time of idle. It
// returns early if ctx ends or the client goes. A head alone is sent for a HEAD.
func Send(ctx context.Context, w http.ResponseWriter, r *http.Request, in <-chan Event, idle time.Duration) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	if r.Method == http.MethodHead {
		return
	}
	silence := time.NewTimer(idle)
	defer silence.Stop()
	for {
		var err error
		select {
		case e, more := <-in:
			if !more {
				return
			}
			_, err = w.Write(e.Encode())
		case <-silence.C:
			_, err = io.WriteString(w, ":\n\n")
		case <-r.Context().Done():
			return
		case <-ctx.Done():
			return
		}
		if err == nil {
			err = flush()
		}
		if err != nil {
			return
		}
		silence.Reset(idle)
	}
}
