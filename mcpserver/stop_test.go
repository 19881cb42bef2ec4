package mcpserver_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// TestStop ends the context of a server while calls are under way and its input stays open, as a signal does. What they answer still goes out.
func TestStop(t *testing.T) {
	t.Parallel()
	s, h := holding(t, "local")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := overUntil(ctx, t, s.Server, true)
	c.initialize("2025-06-18", "{}")
	c.call("1")
	c.call("2")
	<-h.asked
	<-h.asked
	stop()
	seen := map[string]bool{}
	for range 2 {
		m := c.reply()
		if seen[string(m.ID)] = true; !strings.Contains(m.line, "CANCELLED: ") {
			t.Errorf("the answer is %s", m.line)
		}
	}
	if !seen["1"] || !seen["2"] {
		t.Errorf("answers to %v", seen)
	}
	c.ended()
}

// stubborn is a fleet with a machine whose state is never told, not even when nobody wants to know it any more.
type stubborn struct {
	*memory
	asked chan string
	free  chan struct{}
}

func (b *stubborn) Inspect(ctx context.Context, id string) (*smol.Info, error) {
	if id == "box" {
		b.asked <- id
		<-b.free
	}
	return b.memory.Inspect(ctx, id)
}

// TestOneBoundForAll ends a session with a call and a delete that do not end. From the end of the input, or of the context, to the end of
// Close it takes ten seconds at most, and what can be deleted is.
func TestOneBoundForAll(t *testing.T) {
	for _, how := range []string{"input", "context"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &stubborn{memory: newMemory("local"), asked: make(chan string, 1), free: make(chan struct{})}
				s := serve(t, func(o *mcpserver.Options) {
					o.Config.Targets, o.Local = "local", mcpserver.FixedFleet(smol.NewFleet(b))
				})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				c := overUntil(ctx, t, s.Server, true)
				c.initialize("2025-06-18", "{}")
				for _, name := range []string{"mcp-a", "mcp-b"} {
					c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create-machine","arguments":{"image":"alpine","name":%q,"start":false}}}`, name)
					if m := c.reply(); m.Error != nil || strings.Contains(m.line, `"isError":true`) {
						t.Fatal(m.line)
					}
				}
				b.stuck["mcp-a"] = true
				c.call("1")
				<-b.asked
				time.Sleep(time.Hour) // what came before takes nothing from it
				began := time.Now()
				if how == "input" {
					c.in.Close()
				} else {
					stop()
				}
				c.ended()
				err := s.Close(t.Context())
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it takes %v", took)
				}
				if err == nil || !strings.Contains(err.Error(), "mcp-a") || !strings.Contains(err.Error(), "still under way") {
					t.Errorf("close does not tell what is left: %v", err)
				}
				if got := b.names(); !slices.Equal(got, []string{"mcp-a"}) {
					t.Errorf("left: %v", got)
				}
				close(b.free)
				synctest.Wait()
			})
		})
	}
}
