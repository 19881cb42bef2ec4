//go:build linux || darwin

package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReaderGone closes the output of a server in the middle of a long call and leaves its input open. The server ends at once, and takes its
// machines along.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	h := newHost(t, program(t, "smol-mcp"))
	p := h.start()
	p.initialize()
	names := p.create()
	p.ask("tools/call", args{"name": "run-command", "arguments": args{"target": "local", "name": names[0], "command": []string{"hang"}, "waitSecs": 900, "timeoutSecs": 900}})
	look, end := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer look.Stop()
	for len(p.call("list-commands", args{"target": "local", "name": names[0]})["commands"].([]any)) == 0 {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("the command does not begin")
		}
	}
	if err := p.out.Close(); err != nil {
		t.Fatal(err)
	}
	p.exited()
	if l, c := h.list(); len(slices.Concat(l, c)) > 0 {
		t.Errorf("left: %v, %v", l, c)
	}
	if !strings.Contains(p.stderr.String(), "nobody reads the output any more") {
		t.Errorf("it ended for another reason:\n%s", &p.stderr)
	}
}
