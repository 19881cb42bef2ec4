package local_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

const logsRoute = "GET /machines/m/logs"

// lines ranges over logs.
func lines(ctx context.Context, b *local.Backend, o *smol.LogOptions) (got []string, err error) {
	for line, e := range b.Logs(ctx, "m", o) {
		if e != nil {
			return got, e
		}
		got = append(got, line)
	}
	return got, nil
}

// TestLogQuery: without a tail the service gives 64 KiB and calls it everything.
func TestLogQuery(t *testing.T) {
	for _, tt := range []struct {
		opts *smol.LogOptions
		want string
	}{
		{nil, "tail=10000"},
		{&smol.LogOptions{}, "tail=10000"},
		{&smol.LogOptions{Tail: 7}, "tail=7"},
		{&smol.LogOptions{Tail: 10000}, "tail=10000"},
		{&smol.LogOptions{Tail: -1}, "tail=0"},
		{&smol.LogOptions{Follow: true}, "follow=true"},
		{&smol.LogOptions{Follow: true, Tail: 7}, "tail=7&follow=true"},
		{&smol.LogOptions{Follow: true, Tail: -7}, "tail=0&follow=true"},
	} {
		s := serve(t, answers{logsRoute: says("data: one\n\n:\n\ndata: two\rdata: \n\n")})
		got, err := lines(t.Context(), s.backend(), tt.opts)
		if tt.opts == nil || !tt.opts.Follow {
			if err != nil {
				t.Fatal(err)
			}
		} else if e := asError(t, err); e.Code != smol.CodeUnavailable || !strings.Contains(e.Message, "ended") {
			t.Errorf("a follower that the service ended: %+v", e)
		}
		if diff := cmp.Diff([]string{"one", "two\n"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{logsRoute + "?" + tt.want}, s.requests()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	s := serve(t, nil)
	if _, err := lines(t.Context(), s.backend(), &smol.LogOptions{Tail: 10001}); asError(t, err).Code != smol.CodeInvalid {
		t.Errorf("got %v", err)
	}
}

// TestLogFollowersQueue wants a follower to wait for its turn.
func TestLogFollowersQueue(t *testing.T) {
	full := fails(409, "CONFLICT", "too many concurrent log followers")
	s := serve(t, answers{logsRoute: inTurn(full, full, full, says("data: one\n\n"))})
	got, err := lines(t.Context(), s.backend(), nil)
	if err != nil || len(got) != 1 || s.count(logsRoute) != 4 {
		t.Errorf("%q, %v, %q", got, err, s.requests())
	}

	ctx, cancel := context.WithCancel(t.Context())
	s = serve(t, answers{logsRoute: inTurn(full, full, func(w http.ResponseWriter, r *http.Request) { cancel(); full(w, r) })})
	if _, err := lines(ctx, s.backend(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoLogsYet(t *testing.T) {
	for _, text := range []string{
		"machine 'm' has not been started yet — no logs available", "machine 'm' has no logs yet — it may not have been started", "console log not configured",
	} {
		s := serve(t, answers{logsRoute: fails(404, "NOT_FOUND", text)})
		_, err := lines(t.Context(), s.backend(), nil)
		if e := asError(t, err); errors.Is(err, smol.ErrNotFound) || e.Code != smol.CodeConflict || e.Hint == "" {
			t.Errorf("%s: %+v", text, e)
		}
	}
}

func TestLogsAreCut(t *testing.T) {
	for _, body := range []string{"data: one\n\ndata: tw", "data: one\n\ndata: two\n"} {
		s := serve(t, answers{logsRoute: says(body)})
		got, err := lines(t.Context(), s.backend(), nil)
		if e := asError(t, err); len(got) != 1 || e.Code != smol.CodeUnavailable || e.Op != "logs" {
			t.Errorf("%q: %q, %+v", body, got, e)
		}
	}
}

func TestLogsAreLeft(t *testing.T) {
	for _, how := range []string{"break", "cancel"} {
		hungUp := make(chan struct{})
		s := serve(t, answers{logsRoute: forever("data: one\n\n", hungUp)})
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		for line, err := range s.backend().Logs(ctx, "m", &smol.LogOptions{Follow: true}) {
			if n++; n == 1 && line != "one" {
				t.Errorf("%q, %v", line, err)
			}
			if how == "break" {
				break
			}
			cancel()
			if n == 2 && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		<-hungUp
		cancel()
	}
}

// TestLongLogLine is a console line of megabytes, which the service forwards whole.
func TestLongLogLine(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	s := serve(t, answers{logsRoute: says("data: " + long + "\n\n")})
	if got, err := lines(t.Context(), s.backend(), nil); err != nil || len(got) != 1 || got[0] != long {
		t.Errorf("%d lines, %v", len(got), err)
	}
}
