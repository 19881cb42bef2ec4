package rest

import (
	"context"
	"encoding/json"

	"github.com/smol-machines/smol-go/internal/sse"
	"github.com/smol-machines/smol-go/smol"
)

// Cut says that an event stream that was the answer to r ended with err before its last event.
func (r *Request) Cut(ctx context.Context, err error) error {
	err = r.Broken(ctx, err)
	if e, ok := err.(*smol.Error); ok {
		e.Message = "the stream was cut before its end"
		if e.Err == sse.ErrTooLong {
			e.Code, e.Message = smol.CodeUnknown, ""
		}
		e.Hint = "what was running may still run"
	}
	return err
}

// Exit reads the event that ends a command's stream. One without a code must not be taken for success.
func (r *Request) Exit(data string) (smol.Event, error) {
	var exit struct{ ExitCode *int }
	if err := json.Unmarshal([]byte(data), &exit); err != nil || exit.ExitCode == nil {
		return smol.Event{}, r.fail(smol.CodeUnknown, "the stream ended without an exit code", err)
	}
	return smol.Event{Exited: true, ExitCode: *exit.ExitCode}, nil
}
