package feed_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/sim/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		event feed.Event
		want  string
	}{
		{feed.Event{Name: "stdout", Data: "a"}, "event: stdout\ndata: a\n\n"},
		{feed.Event{Name: "stdout", Data: "a\nb\n"}, "event: stdout\ndata: a\ndata: b\ndata: \n\n"},
		{feed.Event{Name: "stdout", Data: "a\rb"}, "event: stdout\ndata: a\rdata: b\n\n"},
		{feed.Event{Data: " x"}, "data:  x\n\n"},
		{feed.Event{Name: "stdout"}, "event: stdout\n\n"},
	} {
		if got := string(tt.event.Encode()); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.event, got, tt.want)
		}
	}
}

// stream serves what comes from in and returns the reply, whose body is open.
func stream(t *testing.T, ctx context.Context, method string, in <-chan feed.Event, idle time.Duration) *http.Response {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { feed.Send(ctx, w, r, in, idle) }))
	t.Cleanup(s.Close)
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestSend(t *testing.T) {
	in := make(chan feed.Event, 2)
	in <- feed.Event{Name: "a", Data: "1"}
	in <- feed.Event{Name: "b"}
	close(in)
	res := stream(t, context.Background(), "GET", in, time.Hour)
	b, err := io.ReadAll(res.Body)
	if err != nil || string(b) != "event: a\ndata: 1\n\nevent: b\n\n" || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%q, %v, %v", b, err, res.Header)
	}
}

// A stream in which nothing happens says so, and ends with its server.
func TestSendIdle(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res := stream(t, ctx, "GET", make(chan feed.Event), time.Millisecond)
	b := make([]byte, 6)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != ":\n\n:\n\n" {
		t.Errorf("%q, %v", b, err)
	}
	cancel()
	rest, err := io.ReadAll(res.Body)
	if err != nil || strings.Trim(string(rest), ":\n") != "" {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestSendHead(t *testing.T) {
	res := stream(t, context.Background(), "HEAD", make(chan feed.Event), time.Hour)
	if res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v", res.Header)
	}
}
