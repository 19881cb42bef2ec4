package mcpserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
)

// cancelled calls a tool, takes the call back once it tells of its progress, and returns what it answers.
func (c *wire) cancelled(tool string, in args) string {
	c.t.Helper()
	params, err := json.Marshal(args{"name": tool, "arguments": in, "_meta": args{"progressToken": "t"}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":%s}`, params)
	if m := c.reply(); m.Method != "notifications/progress" {
		c.t.Fatalf("no progress but %s", m.line)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	for {
		if m := c.reply(); m.Method == "" {
			return m.line
		}
	}
}

// TestCancelPoll takes a poll back that would wait for minutes. It is answered, and the command goes on.
func TestCancelPoll(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	job := c.call("run-command", args{"name": "box", "command": "hang", "waitSecs": 0})["job"]
	w := over(t, s.Server, true)
	w.initialize("2025-06-18", "{}")
	if got := w.cancelled("poll-command", args{"name": "box", "job": job, "waitSecs": 900}); !strings.Contains(got, "CANCELLED: ") {
		t.Errorf("the answer is %s", got)
	}
	if got := c.call("poll-command", args{"name": "box", "job": job, "waitSecs": 0}); got["running"] != true || got["stdout"] != "partial\n" {
		t.Errorf("the command: %v", got)
	}
	w.in.Close()
	w.ended()
}

// TestCancelRunOnce takes a run-once back in the middle of its command. By the time it is answered its machine is gone, and off the record.
func TestCancelRunOnce(t *testing.T) {
	t.Parallel()
	for _, fleet := range []string{"local", "cloud"} {
		t.Run(fleet, func(t *testing.T) {
			t.Parallel()
			var dir string
			change := func(o *mcpserver.Options) { dir = o.Config.RuntimeDir }
			var s *server
			if fleet == "local" {
				s, _ = locally(t, change)
			} else {
				s, _ = inCloud(t, change)
			}
			w := over(t, s.Server, true)
			w.initialize("2025-06-18", "{}")
			got := w.cancelled("run-once", args{"image": "alpine", "network": "open", "command": "hang", "timeoutSecs": 900})
			if !strings.Contains(got, "CANCELLED: ") || !strings.Contains(got, "deleted") {
				t.Errorf("the answer is %s", got)
			}
			if left := slices.Concat(listNames(connect(t, s.Server, nil)), recorded(t, dir)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			w.in.Close()
			w.ended()
		})
	}
}
