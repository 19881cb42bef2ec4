package mcpserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
)

const boxLogs = "smol://machine/local/box/logs"

// subscriber is a client that counts updates.
type subscriber struct {
	*client
	updates chan string
}

func subscribe(t *testing.T, s *consoles, version string) *subscriber {
	t.Helper()
	out := &subscriber{updates: make(chan string, 64)}
	out.client = connectVersion(t, s.Server, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { out.updates <- req.Params.URI },
	}, version)
	return out
}

func (s *subscriber) want() {
	s.t.Helper()
	select {
	case uri := <-s.updates:
		if uri != boxLogs {
			s.t.Errorf("an update of %s", uri)
		}
	case <-time.After(20 * time.Second):
		s.t.Fatal("there is no update")
	}
}

func (s *subscriber) wantNone() {
	s.t.Helper()
	if n := len(s.updates); n > 0 {
		s.t.Errorf("%d updates too many", n)
	}
}

func (s *consoles) looks(machine string) int {
	return s.host.Count("GET", "/api/v1/machines/"+machine+"/logs")
}

// settle waits until the log has been looked at in full twice more, so that whatever is to be told has been.
func (s *consoles) settle(machine string) {
	s.t.Helper()
	s.until("the log is looked at", func(from int) bool { return s.looks(machine) >= from+3 }, s.looks(machine))
}

func (s *consoles) until(what string, ok func(from int) bool, from int) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(from); {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s", what)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-s.t.Context().Done():
		}
	}
}

// TestSubscriptions tells clients of both eras once of each change of a log.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-06-18", ""} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			s := withConsoles(t, func(o *mcpserver.Options) { o.Config.LogsPoll = 15 * time.Millisecond })
			first, late := subscribe(t, s, version), subscribe(t, s, version)
			if err := first.Subscribe(t.Context(), &mcp.SubscribeParams{URI: boxLogs}); err != nil {
				t.Fatal(err)
			}
			s.settle("box")
			first.wantNone()
			for range 3 {
				s.write("box", numbered(0, 200)...)
				first.want()
				s.settle("box")
				first.wantNone()
			}
			if err := late.Subscribe(t.Context(), &mcp.SubscribeParams{URI: boxLogs}); err != nil {
				t.Fatal(err)
			}
			s.settle("box")
			s.rotate("box")
			s.settle("box")
			first.wantNone()
			s.write("box", "one")
			first.want()
			late.want()
			if err := first.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: boxLogs}); err != nil {
				t.Fatal(err)
			}
			s.settle("box")
			s.write("box", "two")
			late.want()
			s.settle("box")
			first.wantNone()
			late.wantNone()
			late.Close()
			s.quiet("box")
		})
	}
}

// quiet fails the test unless nobody looks at a log any more, as the looks at another tell.
func (s *consoles) quiet(machine string) {
	s.t.Helper()
	c := subscribe(s.t, s, "2025-06-18")
	if err := c.Subscribe(s.t.Context(), &mcp.SubscribeParams{URI: "smol://machine/local/other/logs"}); err != nil {
		s.t.Fatal(err)
	}
	for try := 0; ; try++ {
		before := s.looks(machine)
		s.settle("other")
		s.settle("other")
		if s.looks(machine) == before {
			return
		}
		if try == 100 {
			s.t.Fatalf("the log of %s is still looked at", machine)
		}
	}
}

func TestSubscriptionEndsWithTheMachine(t *testing.T) {
	t.Parallel()
	s := withConsoles(t, func(o *mcpserver.Options) { o.Config.LogsPoll = 15 * time.Millisecond })
	c := subscribe(t, s, "2025-06-18")
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: boxLogs}); err != nil {
		t.Fatal(err)
	}
	c.call("delete-machine", args{"name": "box"})
	s.quiet("box")
	c.wantNone()
	for _, uri := range []string{boxLogs, "smol://targets", "smol://machine/cloud/box/logs", "smol://machine/local/other/file/etc/passwd"} {
		if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err == nil {
			t.Errorf("%s can be subscribed to", uri)
		}
	}
}
