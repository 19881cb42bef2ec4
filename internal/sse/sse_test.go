package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sse"
)

// read collects the events of r and the error that ended them.
func read(r io.Reader, opts *sse.Options) (events []sse.Event, err error) {
	for event, e := range sse.Events(r, opts) {
		if e != nil {
			return events, e
		}
		events = append(events, event)
	}
	return events, nil
}

func message(data string) sse.Event { return sse.Event{Type: "message", Data: data} }

// streams are the rules of the standard, one a row.
var streams = []struct {
	name string
	in   string
	want []sse.Event
	err  error
}{
	{name: "nothing", in: ""},
	{name: "one line", in: "data: hello\n\n", want: []sse.Event{message("hello")}},
	{name: "CRLF ends a line", in: "data: a\r\n\r\n", want: []sse.Event{message("a")}},
	{name: "CR ends a line", in: "data: a\r\r", want: []sse.Event{message("a")}},
	{name: "mixed line ends", in: "data: a\rdata: b\ndata: c\r\n\r", want: []sse.Event{message("a\nb\nc")}},
	{name: "LF CR is two ends", in: "data: a\n\rdata: b\n\n", want: []sse.Event{message("a"), message("b")}},
	{name: "carriage return in a payload of the service", in: "event: stdout\ndata: x\rdata: \ndata: y\n\n", want: []sse.Event{{Type: "stdout", Data: "x\n\ny"}}},
	{name: "trailing newline of a payload", in: "data: a\ndata: b\ndata: \n\n", want: []sse.Event{message("a\nb\n")}},
	{name: "an empty payload is an event if it has a data line", in: "data:\n\n", want: []sse.Event{message("")}},
	{name: "without a data line there is no event", in: "event: exit\n\nid: 7\n\n\n\n"},
	{name: "the type is forgotten with its event", in: "event: exit\n\ndata: x\n\n", want: []sse.Event{message("x")}},
	{name: "comments and keep-alives", in: ":\n\n: hi\ndata: x\n:\n\n", want: []sse.Event{message("x")}},
	{name: "only one space is dropped", in: "data:  two\ndata:none\ndata:\ttab\n\n", want: []sse.Event{message(" two\nnone\n\ttab")}},
	{name: "a field without a colon", in: "data\ndata\n\n", want: []sse.Event{message("\n")}},
	{name: "fields that are not known", in: "retry: 5\nfoo: bar\n data: no\nDATA: no\ndata: x\n\n", want: []sse.Event{message("x")}},
	{name: "colons in a value", in: "data: a:b: c\n\n", want: []sse.Event{message("a:b: c")}},
	{name: "ids stay", in: "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", want: []sse.Event{
		{Type: "message", Data: "a", ID: "1"},
		{Type: "message", Data: "b", ID: "1"},
		{Type: "message", Data: "c"},
	}},
	{name: "an id with NUL is ignored", in: "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", want: []sse.Event{
		{Type: "message", Data: "a", ID: "1"},
		{Type: "message", Data: "b", ID: "1"},
	}},
	{name: "byte order mark", in: "\ufeffdata: x\n\n", want: []sse.Event{message("x")}},
	{name: "only one byte order mark", in: "\ufeff\ufeffdata: x\n\n"},
	{name: "half a byte order mark", in: "\xef\xbb", err: io.ErrUnexpectedEOF},
	{name: "not UTF-8", in: "data: \xe2\x82x\xff\xc0\xafy\n\n", want: []sse.Event{message("\ufffdx\ufffd\ufffd\ufffdy")}},
	{name: "surrogates and what lies beyond", in: "data: \xed\xa0\x80|\xf4\x90\x80\x80|\xf0\x9f\x98\n\n", want: []sse.Event{message("\ufffd\ufffd\ufffd|\ufffd\ufffd\ufffd\ufffd|\ufffd")}},
	{name: "cut within a line", in: "data: a\n\ndata: b", want: []sse.Event{message("a")}, err: io.ErrUnexpectedEOF},
	{name: "cut within an event", in: "data: a\n\ndata: b\n", want: []sse.Event{message("a")}, err: io.ErrUnexpectedEOF},
	{name: "cut after a name", in: "event: exit\n", err: io.ErrUnexpectedEOF},
	{name: "ends after a comment", in: "data: a\n\n:\n", want: []sse.Event{message("a")}},
}

func TestEvents(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []struct {
				how string
				r   io.Reader
			}{
				{"at once", strings.NewReader(tt.in)},
				{"byte by byte", iotest.OneByteReader(strings.NewReader(tt.in))},
				{"data with the end", iotest.DataErrReader(strings.NewReader(tt.in))},
			} {
				got, err := read(r.r, nil)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", r.how, diff)
				}
				if !errors.Is(err, tt.err) {
					t.Errorf("%s: error %v, want %v", r.how, err, tt.err)
				}
			}
		})
	}
}

// TestCarriageReturnDoesNotWait wants an event that ends in CR while the sender is still quiet.
func TestCarriageReturnDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "data: a\r\r")
		<-t.Context().Done()
		_ = w.Close()
	}()
	for event, err := range sse.Events(r, nil) {
		if err != nil || event.Data != "a" {
			t.Errorf("got %+v, %v", event, err)
		}
		break
	}
	_ = r.Close()
}

func TestReaderErrorIsTheLast(t *testing.T) {
	cause := errors.New("connection reset")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(cause)), nil)
	if diff := cmp.Diff([]sse.Event{message("a")}, got); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
}

func TestReaderWithoutProgress(t *testing.T) {
	if _, err := read(idle{}, nil); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v, want %v", err, io.ErrNoProgress)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestLimit(t *testing.T) {
	long := strings.Repeat("x", 1000)
	opts := &sse.Options{MaxEvent: 1000}
	for _, tt := range []struct {
		name, in string
		events   int
		err      error
	}{
		{"fits", "data: " + long[:994] + "\n\n", 1, nil},
		{"many that fit", strings.Repeat("data: "+long[:500]+"\n\n", 9), 9, nil},
		{"one line", "data: " + long + "\n\n", 0, sse.ErrTooLong},
		{"one line without an end", "data: " + long + long, 0, sse.ErrTooLong},
		{"many lines", strings.Repeat("data: "+long[:300]+"\n", 4) + "\n", 0, sse.ErrTooLong},
		{"an endless comment", ":" + long + long, 0, sse.ErrTooLong},
		{"after a good one", "data: ok\n\ndata: " + long + "\n\n", 1, sse.ErrTooLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(iotest.HalfReader(strings.NewReader(tt.in)), opts)
			if len(got) != tt.events || !errors.Is(err, tt.err) {
				t.Errorf("%d events and error %v, want %d and %v", len(got), err, tt.events, tt.err)
			}
		})
	}
}

// TestLongLine wants a line of megabytes whole: there is no silent limit.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 200_000)
	got, err := read(iotest.HalfReader(strings.NewReader("data: "+long+"\n\n")), nil)
	if err != nil || len(got) != 1 || got[0].Data != long {
		t.Errorf("%d events, error %v", len(got), err)
	}
}

func TestBreakStopsReading(t *testing.T) {
	src := strings.NewReader(strings.Repeat("data: x\n\n", 100_000))
	n := 0
	for range sse.Events(src, nil) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 || src.Len() == 0 {
		t.Errorf("%d events, %d bytes left", n, src.Len())
	}
}
