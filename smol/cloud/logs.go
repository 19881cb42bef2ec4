package cloud

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/internal/sse"
	"github.com/smol-machines/smol-go/smol"
)

const (
	maxTail = 10_000
	// maxLine bounds a line, so that a console without line ends does not fill the memory.
	maxLine = 1 << 20
)

// Logs implements [smol.LogBackend]. The lines are those of the machine's console; of a machine that is stopped, the archived ones. They are passed on as
// they come, records in JSON too. A follower whose stream the service ends gets an error matching [smol.ErrUnavailable].
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
	c, err := newCall(opLogs, id)
	if err != nil {
		return false, err
	}
	if o.Tail > maxTail {
		return false, rest.Describe(rest.Invalid("LogOptions.Tail", "is %d; at most %d are allowed", o.Tail, maxTail), c.Op, id)
	}
	c.Query, c.Accept = logQuery(o), "text/plain, text/event-stream"
	resp, err := b.open(ctx, c)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := logLines(ctx, c, resp)
	if !o.Follow && o.Tail != 0 {
		lines = lastLines(lines, max(o.Tail, 0))
	}
	for line, err := range lines {
		if err != nil {
			return false, err
		}
		if !yield(line, nil) {
			return true, nil
		}
	}
	if o.Follow {
		e := c.fail(smol.CodeUnavailable, "the service ended the stream")
		e.Hint = "the machine may have stopped; follow again"
		return false, e
	}
	return false, nil
}

func logQuery(o smol.LogOptions) string {
	q := url.Values{}
	if o.Tail != 0 {
		q.Set("tail", strconv.Itoa(max(o.Tail, 0)))
	}
	if o.Follow {
		q.Set("follow", "true")
	}
	return q.Encode()
}

// logLines yields the lines of an answer, which can be plain text, an event stream, or the one with marks of the other.
func logLines(ctx context.Context, c *call, resp *http.Response) iter.Seq2[string, error] {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return eventLines(ctx, c, resp.Body)
	}
	return plainLines(ctx, c, resp.Body)
}

func eventLines(ctx context.Context, c *call, body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for ev, err := range sse.Events(body, &sse.Options{MaxEvent: maxLine}) {
			if err != nil {
				yield("", c.Cut(ctx, err))
				return
			}
			for line := range strings.SplitSeq(ev.Data, "\n") {
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

func plainLines(ctx context.Context, c *call, body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		marked := false // lines come as events, in which a blank line is none
		scan := bufio.NewScanner(body)
		scan.Buffer(nil, maxLine)
		for scan.Scan() {
			line, isMarked := strings.CutPrefix(scan.Text(), "data: ")
			marked = marked || isMarked
			if marked && line == "" && !isMarked {
				continue
			}
			if !yield(strings.ToValidUTF8(line, "\uFFFD"), nil) {
				return
			}
		}
		switch err := scan.Err(); {
		case err == bufio.ErrTooLong:
			yield("", c.fail(smol.CodeUnknown, "a line of the console is longer than a MiB"))
		case err != nil:
			yield("", c.Cut(ctx, err))
		}
	}
}

// lastLines yields the last n lines, for services that do not know the query.
func lastLines(lines iter.Seq2[string, error], n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var kept []string
		for line, err := range lines {
			if err != nil {
				yield("", err)
				return
			}
			if kept = append(kept, line); len(kept) > 2*n {
				kept = append(kept[:0], kept[len(kept)-n:]...)
			}
		}
		for _, line := range kept[max(0, len(kept)-n):] {
			if !yield(line, nil) {
				return
			}
		}
	}
}
