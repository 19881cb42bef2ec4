package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/smol"
)

const (
	// quiet is how long a command may take before anything is told of it: most have ended by then.
	quiet = 2 * time.Second
	// progressPause is the least time between two notifications, silence the longest while nothing is written.
	progressPause, silence = time.Second, 5 * time.Second
	// progressLine is the most bytes of a line that is told.
	progressLine = 400
)

// progress reports whether the client wants to hear how the call is getting on.
func (c *call) progress() bool { return c.request.Params.GetProgressToken() != nil }

// follow waits for a job until then, telling the client of its output as it comes, and returns all of it since from.
func (c *call) follow(ctx context.Context, job *smol.Job, from smol.JobOffset, until time.Time) (*smol.JobPart, error) {
	if !c.progress() {
		return job.Poll(ctx, &smol.PollOptions{From: from, Wait: max(0, time.Until(until)), Budget: c.budget()})
	}
	began, seen := time.Now(), from
	for n := 1; ; n++ {
		wait := min(silence, time.Until(until))
		if wait <= 0 {
			break
		}
		part, err := job.Poll(ctx, &smol.PollOptions{From: seen, Wait: wait, News: true, Budget: smol.Budget{Bytes: 4 * progressLine}})
		if err != nil {
			return nil, err
		}
		seen = part.Next
		if part.State != smol.JobRunning {
			break
		}
		message := lastLine(part)
		if message == "" {
			message = fmt.Sprintf("running for %d s", int(time.Since(began).Seconds()))
		}
		c.tell(ctx, float64(n), message)
		if pace.Wait(ctx, min(progressPause, time.Until(until))) != nil {
			break // the last poll says why
		}
	}
	return job.Poll(ctx, &smol.PollOptions{From: from, Budget: c.budget()})
}

// tell sends a notification of progress. Nothing depends on its arrival.
func (c *call) tell(ctx context.Context, n float64, message string) {
	p := &mcp.ProgressNotificationParams{ProgressToken: c.request.Params.GetProgressToken(), Progress: n, Message: message}
	if err := c.request.Session.NotifyProgress(ctx, p); err != nil {
		c.server.log.Debug("progress", "request", requestID(ctx), "error", err)
	}
}

// lastLine returns the last line that is not blank, of the output before that of the errors.
func lastLine(p *smol.JobPart) string {
	for _, e := range []*smol.Excerpt{&p.Stdout, &p.Stderr} {
		data := bytes.TrimSpace(e.Tail)
		if len(data) == 0 {
			data = bytes.TrimSpace(e.Head)
		}
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			data = data[i+1:]
		}
		if len(data) > 0 {
			return clip(string(bytes.ToValidUTF8(data, []byte("\uFFFD"))), progressLine)
		}
	}
	return ""
}
