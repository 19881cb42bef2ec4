package mcpserver_test

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/mcpserver"
)

// TestSubscribeAgainInVain subscribes once more while the log cannot be read. That fails, and the first subscription goes on.
func TestSubscribeAgainInVain(t *testing.T) {
	t.Parallel()
	s := withConsoles(t, func(o *mcpserver.Options) { o.Config.LogsPoll = 15 * time.Millisecond })
	c, late := subscribe(t, s, "2025-06-18"), subscribe(t, s, "2025-06-18")
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: boxLogs}); err != nil {
		t.Fatal(err)
	}
	s.host.Fault(fault.Fault{Method: "GET", Path: "/api/v1/machines/box/logs", Action: fault.Fail})
	for _, subscriber := range []*subscriber{late, c} {
		if err := subscriber.Subscribe(t.Context(), &mcp.SubscribeParams{URI: boxLogs}); err == nil {
			t.Error("a log that cannot be read is subscribed to")
		}
	}
	s.host.ClearFaults()
	s.settle("box")
	s.write("box", "more")
	c.want()
	late.wantNone()
	c.Close()
	s.quiet("box")
}
