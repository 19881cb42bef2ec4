package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

// twoFleets is a server of two fleets whose errors tell which was asked.
func twoFleets(t *testing.T) *server {
	t.Helper()
	named := func(name string) mcpserver.FleetSource {
		return mcpserver.FixedFleet(smol.NewFleet(&deadBackend{err: &smol.Error{Code: smol.CodeUnavailable, Message: "this is " + name}}))
	}
	return serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Local, o.Cloud = "both", named("local"), named("cloud")
	})
}

// asked is a client's answer to the question which fleet a session is for.
type asked struct {
	questions, changes atomic.Int64
	options            *mcp.ClientOptions
}

func newAsked(answer func(ctx context.Context) (*mcp.ElicitResult, error)) *asked {
	a := &asked{}
	a.options = &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.questions.Add(1)
			return answer(ctx)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { a.changes.Add(1) },
	}
	return a
}

func TestNarrowing(t *testing.T) {
	t.Parallel()
	accept := func(word string) func(context.Context) (*mcp.ElicitResult, error) {
		return func(context.Context) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"target": word}}, nil
		}
	}
	tests := []struct {
		name   string
		answer func(context.Context) (*mcp.ElicitResult, error)
		// first and second are what calls without a target and with target cloud say.
		first, second string
		narrowed      bool
	}{
		{"local", accept("local"), "this is local", "for the local fleet only", true},
		{"cloud", accept("cloud"), "this is cloud", "this is cloud", true},
		{"both", accept("both"), "missing argument target", "this is cloud", false},
		{"decline", func(context.Context) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "decline"}, nil }, "missing argument target", "this is cloud", false},
		{"cancel", func(context.Context) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "cancel"}, nil }, "missing argument target", "this is cloud", false},
		{"error", func(context.Context) (*mcp.ElicitResult, error) { return nil, errors.New("no") }, "missing argument target", "this is cloud", false},
		{"nonsense", accept("moon"), "missing argument target", "this is cloud", false},
		{"never", func(ctx context.Context) (*mcp.ElicitResult, error) { <-ctx.Done(); return nil, ctx.Err() }, "missing argument target", "this is cloud", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := twoFleets(t)
				a, other := newAsked(tt.answer), newAsked(accept("both"))
				c := connectOld(t, s.Server, a.options)
				bystander := connectOld(t, s.Server, other.options)
				began := time.Now()
				if text := textOf(t, c.raw("list-machines", nil)); !strings.Contains(text, tt.first) {
					t.Errorf("the first call says %q, not %q", text, tt.first)
				}
				if took := time.Since(began); took > 61*time.Second {
					t.Errorf("the first call took %s", took)
				}
				if text := textOf(t, c.raw("list-machines", args{"target": "cloud"})); !strings.Contains(text, tt.second) {
					t.Errorf("a call for the cloud says %q, not %q", text, tt.second)
				}
				if n := a.questions.Load(); n != 1 {
					t.Errorf("the client was asked %d times", n)
				}
				synctest.Wait()
				changes := int64(0)
				if tt.narrowed {
					changes = 1
				}
				if got := a.changes.Load(); got != changes {
					t.Errorf("the client was told %d times that its tools changed, not %d", got, changes)
				}
				if got := other.changes.Load(); got != 0 {
					t.Errorf("another client was told %d times that its tools changed", got)
				}
				if got := !requiresTarget(t, c); got != tt.narrowed {
					t.Errorf("the schemas are without target: %t", got)
				}
				if !requiresTarget(t, bystander) {
					t.Error("the schemas of another client are without target")
				}
			})
		})
	}
}

// TestNarrowingObeysAtOnce sends the call that asks to the fleet of the answer, whatever it names itself.
func TestNarrowingObeysAtOnce(t *testing.T) {
	t.Parallel()
	s := twoFleets(t)
	a := newAsked(func(context.Context) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"target": "local"}}, nil
	})
	c := connectOld(t, s.Server, a.options)
	if text := textOf(t, c.raw("list-machines", args{"target": "cloud"})); !strings.Contains(text, "this is local") {
		t.Errorf("the first call says %q", text)
	}
}

// TestNarrowingNeedsAClientThatCanBeAsked leaves target required for clients that cannot be asked, and in the newest era.
func TestNarrowingNeedsAClientThatCanBeAsked(t *testing.T) {
	t.Parallel()
	s := twoFleets(t)
	a := newAsked(func(context.Context) (*mcp.ElicitResult, error) { return nil, errors.New("asked") })
	for name, c := range map[string]*client{"unable": connectOld(t, s.Server, nil), "new era": connect(t, s.Server, a.options)} {
		if text := c.fails(mcpserver.CodeInvalid, "list-machines", nil); !strings.Contains(text, "target") {
			t.Errorf("%s: %s", name, text)
		}
		if text := c.fails(mcpserver.CodeInvalid, "list-machines", args{"target": "moon"}); !strings.Contains(text, "target") {
			t.Errorf("%s: %s", name, text)
		}
		if text := textOf(t, c.raw("list-machines", args{"target": "cloud"})); !strings.Contains(text, "this is cloud") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if n := a.questions.Load(); n != 0 {
		t.Errorf("a client of the newest era was asked %d times", n)
	}
}

func requiresTarget(t testing.TB, c *client) bool {
	t.Helper()
	for _, tool := range tools(t, c) {
		in := tool.InputSchema.(map[string]any)
		_, ok := in["properties"].(map[string]any)["target"]
		return ok
	}
	return false
}
