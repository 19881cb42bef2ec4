package local

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/sse"
	"github.com/smol-machines/smol-go/smol"
)

// maxStreamEvent bounds one event; the service's own have 4096 bytes of output, and its errors are lines.
const maxStreamEvent = 1 << 20

// Stream implements [smol.StreamBackend]. The command runs through sh, for the sake of an input that ends; in a machine without sh it runs
// with one that never does. Leaving the range early or ending ctx ends the stream and not the command; Timeout ends the command itself,
// though not what it started. The service ends a stream after 11 MiB.
func (b *Backend) Stream(ctx context.Context, id string, req *smol.ExecRequest) iter.Seq2[smol.Event, error] {
	return func(yield func(smol.Event, error) bool) {
		wrapped := *req
		// The service keeps a streamed command's input open for ever and never sends anything: whatever reads it would hang.
		wrapped.Argv = guest.NoInput(req.Argv)
		s := &execStream{b: b, id: id, yield: yield}
		err := s.check(req)
		if err == nil {
			err = s.run(ctx, &wrapped, true)
		}
		if err == errNoShell { // and so nothing ran
			s.begun = false
			err = s.run(ctx, req, false)
		}
		if err != nil && !s.left {
			yield(smol.Event{}, err)
		}
	}
}

// errNoShell says that there is no sh in the machine. It does not leave this file.
var errNoShell = &smol.Error{Code: smol.CodeNotFound, Message: "no shell in the machine"}

// execStream passes the events of one command on.
type execStream struct {
	b     *Backend
	id    string
	yield func(smol.Event, error) bool
	begun bool // an event has come
	left  bool // the caller has left the range
}

// check looks at the command as it was given, so that its error names what the caller knows.
func (s *execStream) check(req *smol.ExecRequest) error {
	_, err := wireExec(req)
	return rest.Describe(err, "stream", s.id)
}

// run runs req. With shell set, a failure to find sh is errNoShell.
func (s *execStream) run(ctx context.Context, req *smol.ExecRequest, shell bool) error {
	r, err := request("stream", http.MethodPost, s.id, "/exec/stream")
	if err != nil {
		return err
	}
	body, err := wireExec(req)
	if err != nil {
		return rest.Describe(err, r.Op, s.id)
	}
	if err := r.Attach(body, maxBody); err != nil {
		return err
	}
	r.Accept = "text/event-stream"
	resp, err := s.b.rest.Do(ctx, r)
	if err != nil {
		return s.b.unregistered(ctx, s.id, explain(err))
	}
	defer func() { _ = resp.Body.Close() }()
	for ev, err := range sse.Events(resp.Body, &sse.Options{MaxEvent: maxStreamEvent}) {
		if err != nil {
			return r.Cut(ctx, err)
		}
		if done, err := s.event(r, ev, shell); done || err != nil {
			return err
		}
	}
	return r.Cut(ctx, io.ErrUnexpectedEOF)
}

// event passes one event on and reports whether it was the last. Events that are not known are skipped.
func (s *execStream) event(r *rest.Request, ev sse.Event, shell bool) (done bool, err error) {
	first := !s.begun
	s.begun = true
	switch ev.Type {
	case "stdout", "stderr":
		if shell && first && ev.Type == "stderr" && strings.Contains(ev.Data, "executable file `sh` not found") {
			return true, errNoShell
		}
		s.left = !s.yield(smol.Event{Stream: ev.Type, Text: ev.Data}, nil)
		return s.left, nil
	case "exit":
		exit, err := r.Exit(ev.Data)
		if err == nil {
			s.left = !s.yield(exit, nil)
		}
		return true, err
	case "error":
		e := &smol.Error{Op: r.Op, Machine: r.Machine, Code: smol.CodeInternal, Message: streamError(ev.Data)}
		if shell && first && strings.Contains(e.Message, "failed to spawn") && strings.Contains(e.Message, "os error 2)") {
			return true, errNoShell
		}
		rest.Interpret(e, meanings)
		return true, e
	}
	return false, nil
}

// streamError returns the text of an error event. The service puts it into JSON without escaping it, and the text often is the debugging
// form of an inner error, in quotes that are escaped once.
func streamError(data string) string {
	var body struct{ Message string }
	text := data
	if json.Unmarshal([]byte(data), &body) == nil && body.Message != "" {
		text = body.Message
	} else if inner, ok := strings.CutPrefix(data, `{"message":"`); ok {
		text = strings.TrimSuffix(inner, `"}`)
	}
	if _, inner, ok := strings.Cut(text, `("`); ok && strings.HasSuffix(text, `")`) {
		inner = strings.TrimSuffix(inner, `")`)
		text = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n").Replace(inner)
	}
	return strings.TrimSpace(text)
}
