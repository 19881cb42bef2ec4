package mcpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestEventsForLogs reads the log of a machine of a service without a console: it is what has happened to the machine, each event once.
func TestEventsForLogs(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"no route": http.StatusNotFound, "no console": http.StatusNotImplemented, "never booted": http.StatusConflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cl := inCloud(t, nil)
			c := connect(t, s.Server, nil)
			c.call("create-machine", args{"image": "alpine", "name": "box"})
			cl.Fault(smoltest.Fault{Path: "/v1/machines/*/logs", Action: smoltest.Fail, Status: status, ContentType: "application/json", Body: `{"error":"no such thing"}`})
			read := func(cursor any) (lines []any, next any) {
				t.Helper()
				a := args{"name": "box", "tail": 1000}
				if cursor != nil {
					a["cursor"] = cursor
				}
				res := c.call("machine-logs", a)
				if res["truncated"] != false {
					t.Errorf("lines are said to be missing: %v", res)
				}
				return res["lines"].([]any), res["cursor"]
			}
			first, cursor := read(nil)
			if len(first) == 0 || !strings.Contains(first[0].(string), "info: ") || !strings.HasPrefix(first[0].(string), "20") {
				t.Fatalf("the events are %q", first)
			}
			again, cursor := read(cursor)
			if len(again) > 0 {
				t.Errorf("what was read comes again: %q", again)
			}
			c.call("stop-machine", args{"name": "box"})
			more, _ := read(cursor)
			all, _ := read(nil)
			if len(more) == 0 || len(all) != len(first)+len(more) {
				t.Errorf("after %q came %q, and all is %q", first, more, all)
			}
			res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "smol://machine/cloud/box/logs"})
			if err != nil || strings.Count(res.Contents[0].Text, "\n") != len(all) {
				t.Errorf("as a resource: %v, %v", res, err)
			}
			c.fails(mcpserver.CodeNotFound, "machine-logs", args{"name": "none"})
		})
	}
}

// TestNeitherLogsNorEvents tells what is wrong with the console where there are no events either.
func TestNeitherLogsNorEvents(t *testing.T) {
	t.Parallel()
	s, cl := inCloud(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box"})
	cl.Fault(smoltest.Fault{Path: "/v1/machines/*/logs", Action: smoltest.Fail, Status: http.StatusNotImplemented})
	cl.Fault(smoltest.Fault{Path: "/v1/machines/*/events", Action: smoltest.Fail, Status: http.StatusForbidden})
	c.fails(mcpserver.CodeUnsupported, "machine-logs", args{"name": "box"})
	cl.ClearFaults()
	if got := c.call("machine-logs", args{"name": "box"})["lines"].([]any); len(got) == 0 {
		t.Error("the console has no lines")
	}
}
