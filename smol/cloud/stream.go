package cloud

import (
	"context"
	"io"
	"iter"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/sse"
	"github.com/smol-machines/smol-go/smol"
)

// maxStreamEvent bounds one event.
const maxStreamEvent = 16 << 20

// Stream implements [smol.StreamBackend]. Leaving the range early or ending ctx ends the stream; whether the command ends with it is not documented.
// Timeout ends the command. A user is proven as for [Backend.Exec]: a stream does not echo it.
func (b *Backend) Stream(ctx context.Context, id string, req *smol.ExecRequest) iter.Seq2[smol.Event, error] {
	return func(yield func(smol.Event, error) bool) {
		left, err := b.stream(ctx, id, req, yield)
		if err != nil && !left {
			yield(smol.Event{}, err)
		}
	}
}

// stream reports whether the caller has left the range.
func (b *Backend) stream(ctx context.Context, id string, req *smol.ExecRequest, yield func(smol.Event, error) bool) (left bool, err error) {
	c, err := newCall(opStream, id)
	if err != nil {
		return false, err
	}
	body, err := execBody(req)
	if err != nil {
		return false, rest.Describe(err, c.Op, id)
	}
	if err := b.users.prove(ctx, b, c, req.User); err != nil {
		return false, err
	}
	body.Stream, c.Accept = true, "text/event-stream"
	if err := c.Attach(body, 0); err != nil {
		return false, err
	}
	resp, err := b.open(ctx, c)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	for ev, err := range sse.Events(resp.Body, &sse.Options{MaxEvent: maxStreamEvent}) {
		if err != nil {
			return false, c.Cut(ctx, err)
		}
		out, known, err := streamEvent(c, ev)
		if err != nil {
			return false, err
		}
		if known && (!yield(out, nil) || out.Exited) {
			return true, nil
		}
	}
	return false, c.Cut(ctx, io.ErrUnexpectedEOF)
}

// streamEvent translates one event. Those that are not known are skipped.
func streamEvent(c *call, ev sse.Event) (out smol.Event, known bool, err error) {
	switch ev.Type {
	case "stdout", "stderr":
		return smol.Event{Stream: ev.Type, Text: ev.Data}, true, nil
	case "exit":
		out, err = c.Exit(ev.Data)
		return out, true, err
	case "error":
		e := c.Refusal(0, "text/plain", []byte(ev.Data))
		e.Code = smol.CodeInternal
		if ev.Data == "" {
			e.Message = "the service says that the command failed, and not why"
		}
		return out, false, e
	}
	return out, false, nil
}
