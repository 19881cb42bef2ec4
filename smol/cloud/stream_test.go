package cloud_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

const (
	streamRoute = "POST /machines/" + id + "/exec/stream"
	logsRoute   = "GET /machines/" + id + "/logs"
)

// streams answers with an event stream that ends, or is cut, after text.
func streams(text string, cut bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		if cut {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

func TestStream(t *testing.T) {
	exit := "event: exit\ndata: {\"exitCode\":7}\n\n"
	out := func(text string) smol.Event { return smol.Event{Stream: "stdout", Text: text} }
	end := smol.Event{Exited: true, ExitCode: 7}
	for _, tt := range []struct {
		name string
		body http.HandlerFunc
		want []smol.Event
		err  error
		text string
	}{
		{"output and its end", streams("event: stdout\ndata: a\ndata: b\ndata:\n\nevent: stderr\r\ndata: c\r\n\r\n"+exit, false), []smol.Event{out("a\nb\n"), {Stream: "stderr", Text: "c"}, end}, nil, ""},
		{"comments and events of tomorrow", streams(": hello\n\nevent: usage\ndata: {}\n\n"+exit, false), []smol.Event{end}, nil, ""},
		{"what follows the end", streams(exit+"event: stdout\ndata: late\n\n", false), []smol.Event{end}, nil, ""},
		{"no end", streams("event: stdout\ndata: a\n\n", false), []smol.Event{out("a")}, smol.ErrUnavailable, "cut"},
		{"cut", streams("event: stdout\ndata: a\n\nevent: std", true), []smol.Event{out("a")}, smol.ErrUnavailable, "cut"},
		{"cut before the blank line", streams("event: exit\ndata: {\"exitCode\":0}\n", false), nil, smol.ErrUnavailable, "cut"},
		{"an error", streams("event: error\ndata: agent is gone\n\n"+exit, false), nil, nil, "agent is gone (internal)"},
		{"an error in JSON", streams("event: error\ndata: {\"message\":\"agent is gone\"}\n\n", false), nil, nil, "agent is gone (internal)"},
		{"an error without words", streams("event: error\ndata:\n\n", false), nil, nil, "not why"},
		{"an end without a code", streams("event: exit\ndata: {}\n\n", false), nil, nil, "without an exit code"},
		{"an end that is none", streams("event: exit\ndata: zero\n\n", false), nil, nil, "without an exit code"},
		{"refused", fails(http.StatusNotFound, "", "machine not found"), nil, smol.ErrNotFound, "machine not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{streamRoute: tt.body})
			var got []smol.Event
			var last error
			for ev, err := range s.backend().Stream(t.Context(), id, &smol.ExecRequest{Argv: []string{"make"}, Timeout: time.Second}) {
				if last = err; err == nil {
					got = append(got, ev)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if tt.text == "" && last != nil || tt.text != "" && (last == nil || !strings.Contains(last.Error(), tt.text)) || tt.err != nil && !errors.Is(last, tt.err) {
				t.Errorf("%v, want one that says %q", last, tt.text)
			}
			want := map[string]any{"command": []any{"make"}, "timeoutSeconds": 1.0, "stream": true}
			if diff := cmp.Diff(want, s.bodyOf(streamRoute)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStreamIsLeft: whoever leaves the range is not called again, and the connection ends.
func TestStreamIsLeft(t *testing.T) {
	over := make(chan struct{})
	s := serve(t, answers{streamRoute: func(w http.ResponseWriter, r *http.Request) {
		defer close(over)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "event: stdout\ndata: x\n\n")
			w.(http.Flusher).Flush()
		}
	}})
	for range s.backend().Stream(t.Context(), id, &smol.ExecRequest{Argv: []string{"yes"}}) {
		break
	}
	<-over
}

func TestLogs(t *testing.T) {
	plain := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, text)
		}
	}
	record := `{"timestamp":"2026-10-04T09:00:00Z","level":"INFO","fields":{"message":"booted"}}`
	for _, tt := range []struct {
		name  string
		body  http.HandlerFunc
		opts  *smol.LogOptions
		query string
		want  []string
		text  string // of the error
	}{
		{"lines", plain("a\n\nb\r\nc"), nil, "", []string{"a", "", "b", "c"}, ""},
		{"marked lines", plain("data: a\n\ndata: \n\ndata: b\n\n"), nil, "", []string{"a", "", "b"}, ""},
		{"events", streams("data: a\n\nevent: log\ndata: b\ndata: c\n\n", false), nil, "", []string{"a", "b", "c"}, ""},
		{"records", plain(record + "\n"), nil, "", []string{record}, ""},
		{"not UTF-8", plain("a\xffb\n"), nil, "", []string{"a\uFFFDb"}, ""},
		{"nothing", plain(""), nil, "", nil, ""},
		{"the last", plain("b\nc\n"), &smol.LogOptions{Tail: 2}, "tail=2", []string{"b", "c"}, ""},
		{"the last, of a service that gives all", plain("a\nb\nc\nd\ne\nf\n"), &smol.LogOptions{Tail: 2}, "tail=2", []string{"e", "f"}, ""},
		{"none", plain("a\nb\n"), &smol.LogOptions{Tail: -1}, "tail=0", nil, ""},
		{"followed to its end", plain("a\n"), &smol.LogOptions{Follow: true}, "follow=true", []string{"a"}, "ended the stream"},
		{"followed from now", plain("a\n"), &smol.LogOptions{Follow: true, Tail: -1}, "follow=true&tail=0", []string{"a"}, "ended the stream"},
		{"events that are cut", streams("data: a\n\ndata: b", true), nil, "", []string{"a"}, "cut"},
		{"a line without end", plain(strings.Repeat("x", 1<<20+1)), nil, "", nil, "longer than a MiB"},
		{"too many", nil, &smol.LogOptions{Tail: 10_001}, "", nil, "LogOptions.Tail"},
		{"no machine", gone, nil, "", nil, "machine not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{logsRoute: tt.body})
			var got []string
			var last error
			for line, err := range s.backend().Logs(t.Context(), id, tt.opts) {
				if last = err; err == nil {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if tt.text == "" && last != nil || tt.text != "" && (last == nil || !strings.Contains(last.Error(), tt.text)) {
				t.Errorf("%v, want one that says %q", last, tt.text)
			}
			if tt.body == nil {
				return
			}
			want := logsRoute
			if tt.query != "" {
				want += "?" + tt.query
			}
			if got := s.requests(); got[0] != want {
				t.Errorf("asked %q, want %q", got[0], want)
			}
		})
	}
}

// TestLogsAreFollowed: lines come while the service still writes.
func TestLogsAreFollowed(t *testing.T) {
	next := make(chan struct{})
	s := serve(t, answers{logsRoute: func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "tick\n")
			w.(http.Flusher).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
	}})
	n := 0
	for line, err := range s.backend().Logs(t.Context(), id, &smol.LogOptions{Follow: true}) {
		if err != nil || line != "tick" {
			t.Fatalf("%q, %v", line, err)
		}
		if n++; n == 3 {
			break
		}
		next <- struct{}{}
	}
}
