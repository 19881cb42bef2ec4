package local

import (
	"context"
	"iter"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/pace"
	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/sse"
	"github.com/smol-machines/smol-go/smol"
)

// maxTail is the most lines that the service gives.
const maxTail = 10_000

// maxPause bounds the wait for a place among the followers.
const maxPause = 2 * time.Second

// Logs implements [smol.LogBackend]. The lines are those of the machine's console since it was booted: the kernel's and the agent's, not
// what commands or the workload write. Blank lines are lost on the way. A follower does not notice that a long console was cut down: it
// waits until it has grown beyond what it was. When too many follow already it waits for its turn, as long as ctx allows.
func (b *Backend) Logs(ctx context.Context, id string, opts *smol.LogOptions) iter.Seq2[string, error] {
	var o smol.LogOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(string, error) bool) {
		left, err := b.logs(ctx, id, o, yield)
		if err != nil && !left {
			yield("", err)
		}
	}
}

// logs reports whether the caller has left the range.
func (b *Backend) logs(ctx context.Context, id string, o smol.LogOptions, yield func(string, error) bool) (left bool, err error) {
	r, err := request("logs", http.MethodGet, id, "/logs")
	if err != nil {
		return false, err
	}
	if o.Tail > maxTail {
		return false, rest.Describe(rest.Invalid("LogOptions.Tail", "is %d; at most %d are allowed", o.Tail, maxTail), r.Op, id)
	}
	r.Query, r.Accept = logQuery(o), "text/event-stream"
	resp, err := b.openLogs(ctx, r)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	for ev, err := range sse.Events(resp.Body, nil) {
		if err != nil {
			return false, r.Cut(ctx, err)
		}
		if left = !yield(ev.Data, nil); left {
			return true, nil
		}
	}
	if o.Follow {
		return false, &smol.Error{
			Op: r.Op, Machine: id, Code: smol.CodeUnavailable, Message: "the service ended the stream", Hint: "it may be stopping; follow again",
		}
	}
	return false, nil
}

// logQuery asks for the lines that o means. Without a tail the service returns the first 64 KiB of the console and not, as it says, all of
// it; a follower alone gets everything.
func logQuery(o smol.LogOptions) string {
	tail := o.Tail
	switch {
	case tail < 0:
		tail = 0
	case tail == 0 && o.Follow:
		return "follow=true"
	case tail == 0:
		tail = maxTail
	}
	query := "tail=" + strconv.Itoa(tail)
	if o.Follow {
		query += "&follow=true"
	}
	return query
}

// openLogs waits while all the places for followers are taken. Asking for logs changes nothing, and the service has done nothing, so
// asking again is safe.
func (b *Backend) openLogs(ctx context.Context, r *rest.Request) (*http.Response, error) {
	for wait := b.pauses.follower; ; wait = min(2*wait, maxPause) {
		resp, err := b.rest.Do(ctx, r)
		if err == nil {
			return resp, nil
		}
		if e, ok := rest.Answer(err, http.StatusConflict); ok && strings.Contains(e.Message, "log followers") {
			if pace.Wait(ctx, wait/2+rand.N(wait/2+1)) == nil {
				continue
			}
			return nil, r.Broken(ctx, err)
		}
		err = explain(err)
		if e, ok := rest.Answer(err, http.StatusNotFound); ok && noLogsYet(e.Message) {
			e.Code, e.Hint = smol.CodeConflict, "start it first"
			if runtime.GOOS == "windows" {
				e.Hint = "on Windows the console is not kept"
			}
			return nil, e
		}
		return nil, b.unregistered(ctx, r.Machine, err)
	}
}

// noLogsYet tells the machine without a console from the one that does not exist.
func noLogsYet(message string) bool {
	return strings.Contains(message, "no logs") || strings.Contains(message, "console log")
}
