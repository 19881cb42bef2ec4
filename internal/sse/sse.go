// Package sse reads event streams (text/event-stream) as the WHATWG HTML standard defines them.
//
// Lines end in CR, LF or CRLF, whatever way the bytes were cut up on their way; a carriage return ends its line at once,
// without waiting for what follows it. Comments are skipped, data lines are joined with LF, a leading byte order mark is
// dropped and bytes that are not UTF-8 become U+FFFD. There is one difference from a browser, which would connect again: a
// stream that ends in the middle of an event is reported as cut off, because our services end theirs between events.
package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/smol-machines/smol-go/internal/lossy"
)

// MaxEvent is the default limit on the bytes of one event.
const MaxEvent = 16 << 20

// ErrTooLong says that one event was larger than the limit.
var ErrTooLong = errors.New("event is longer than the limit")

// Event is one event of a stream.
type Event struct {
	// Type is the event's name; "message" for an event that has none.
	Type string
	// Data is its payload: the data lines, joined with LF.
	Data string
	// ID is the last id that the stream has set so far; empty if none.
	ID string
}

// Options are the knobs of [Events]. Nil and the zero value mean the defaults.
type Options struct {
	// MaxEvent limits the bytes of one event: its data so far and the line being read. Zero: the constant MaxEvent.
	MaxEvent int
}

// Events yields the events of r as they become complete. The sequence ends without an error when r does so between two
// events. Otherwise its last pair holds an error: r's own, io.ErrUnexpectedEOF if r ends within an event, or ErrTooLong.
// Closing r is the caller's duty. The sequence can be ranged over once.
func Events(r io.Reader, opts *Options) iter.Seq2[Event, error] {
	limit := MaxEvent
	if opts != nil && opts.MaxEvent > 0 {
		limit = opts.MaxEvent
	}
	return func(yield func(Event, error) bool) {
		lines := lineReader{r: r}
		var p parser
		for {
			line, err := lines.next(limit - p.data.Len())
			if err == io.EOF && p.pending() {
				err = io.ErrUnexpectedEOF
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if event, ok := p.line(line); ok && !yield(event, nil) {
				return
			}
		}
	}
}

// parser collects the fields of an event.
type parser struct {
	data    strings.Builder
	typ, id string
	hasData bool // a data line was read; its text may be empty
}

// pending reports whether the fields read so far would be lost if the stream ended.
func (p *parser) pending() bool { return p.hasData || p.typ != "" }

// line takes one line without its end and reports whether it completed an event.
func (p *parser) line(line []byte) (Event, bool) {
	if len(line) == 0 {
		return p.dispatch()
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if p.hasData {
			p.data.WriteByte('\n')
		}
		p.data.WriteString(lossy.String(value))
		p.hasData = true
	case "event":
		p.typ = lossy.String(value)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			p.id = lossy.String(value)
		}
	}
	// An empty name is a comment; "retry" and names that the standard does not know are ignored: we never reconnect.
	return Event{}, false
}

// dispatch ends an event. One without a data line is dropped, as the standard wants it.
func (p *parser) dispatch() (Event, bool) {
	event := Event{Type: p.typ, Data: p.data.String(), ID: p.id}
	if event.Type == "" {
		event.Type = "message"
	}
	complete := p.hasData
	p.data.Reset()
	p.typ, p.hasData = "", false
	return event, complete
}
