package mcpserver_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
)

func TestRunCommand(t *testing.T) {
	t.Parallel()
	s, l := locally(t, func(o *mcpserver.Options) { o.Config.MaxOutputBytes = 3072 })
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open", "env": args{"WHO": "me"}})
	run := func(more args) map[string]any {
		t.Helper()
		more["name"] = "box"
		return c.call("run-command", more)
	}
	if got := run(args{"command": "where", "workdir": "/workspace"}); got["stdout"] != "/workspace me" {
		t.Errorf("workdir and the machine's env: %v", got)
	}
	if got := run(args{"command": "where", "workdir": "/", "env": args{"WHO": "you"}}); got["stdout"] != "/ you" {
		t.Errorf("the command's env: %v", got)
	}
	if got := run(args{"command": args2("cat"), "stdin": "a\x00b\n"}); got["stdout"] != "a\x00b\n" || got["exitCode"] != 0.0 {
		t.Errorf("stdin: %v", got)
	}
	if got := run(args{"command": args2("cat")}); got["stdout"] != "" {
		t.Errorf("no stdin: %v", got)
	}
	if got := run(args{"command": "fail"}); got["exitCode"] != 3.0 || got["stderr"] != "no\n" || got["running"] != false {
		t.Errorf("a failure: %v", got)
	}
	if got := run(args{"command": args2("nothing")}); got["exitCode"] != 127.0 {
		t.Errorf("no such program: %v", got)
	}
	if got := run(args{"command": "hang", "timeoutSecs": 1}); got["exitCode"] != 124.0 || got["timedOut"] != true || got["stdout"] != "partial\n" {
		t.Errorf("timed out: %v", got)
	}
	text := textOf(t, c.raw("run-command", args{"name": "box", "command": "html"}))
	if !strings.Contains(text, `"<b>&</b>"`) {
		t.Errorf("the text escapes what it need not: %s", text)
	}
	c.call("stop-machine", args{"name": "box"})
	if got := run(args{"command": "say hi"}); got["startedMachine"] != true || got["stdout"] != "hi" {
		t.Errorf("in a stopped machine: %v", got)
	}
	if got := run(args{"command": "say hi"}); got["startedMachine"] != false {
		t.Errorf("in a machine that runs: %v", got)
	}
	c.fails(mcpserver.CodeNotFound, "run-command", args{"name": "nobody", "command": "true"})
	if n := l.Reboots("box"); n != 0 {
		t.Errorf("the machine was rebooted %d times", n)
	}
}

// TestLongOutput holds that the ends of a long output come back, and that the rest is found where the result says.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, func(o *mcpserver.Options) { o.Config.MaxOutputBytes = 3072 })
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	raw := c.raw("run-command", args{"name": "box", "command": "flood"})
	got := raw.StructuredContent.(map[string]any)
	head, tail, ok := strings.Cut(got["stdout"].(string), "... 259072 bytes left out ...\n")
	if !ok || len(head) != 2048 || len(tail) != 1024 {
		t.Errorf("%d and %d bytes came back: %.80q", len(head), len(tail), got["stdout"])
	}
	over := got["overflow"].([]any)[0].(map[string]any)
	if over["stream"] != "stdout" || over["bytes"] != 262144.0 {
		t.Errorf("overflow is %v", over)
	}
	link, ok := raw.Content[len(raw.Content)-1].(*mcp.ResourceLink)
	if want := "smol://machine/local/box/file" + over["path"].(string); !ok || link.URI != want {
		t.Errorf("the link is %v, not %s", link, want)
	}
	page := c.call("read-file", args{"name": "box", "path": over["path"], "offset": 262128})
	if page["content"] != "0123456789abcde\n" || page["eof"] != true || page["size"] != 262144.0 {
		t.Errorf("the end of the file is %v", page)
	}
	once := c.raw("run-once", args{"image": "alpine", "command": "flood", "network": "open"}).StructuredContent.(map[string]any)
	if once["truncated"] != true || len(once["overflow"].([]any)) != 0 || !strings.Contains(once["hint"].(string), "create-machine") || once["job"] != nil {
		t.Errorf("run-once: truncated %v, overflow %v, hint %v, job %v", once["truncated"], once["overflow"], once["hint"], once["job"])
	}
	if diff := cmp.Diff([]string{"box"}, listNames(c)); diff != "" {
		t.Errorf("machines after run-once: %s", diff)
	}
}

// TestPolling reads the output of a job in parts, each byte once.
func TestPolling(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	first := c.call("run-command", args{"name": "box", "command": "hang", "waitSecs": 1})
	if first["running"] != true || first["exitCode"] != nil || first["stdout"] != "partial\n" || first["stdoutOffset"] != 8.0 {
		t.Errorf("the first part: %v", first)
	}
	poll := args{"name": "box", "job": first["job"], "stdoutOffset": first["stdoutOffset"], "waitSecs": 0}
	if next := c.call("poll-command", poll); next["stdout"] != "" || next["running"] != true {
		t.Errorf("the next part: %v", next)
	}
	if got := c.call("signal-command", args{"name": "box", "job": first["job"], "signal": "TERM"}); got["state"] != "signaled" {
		t.Errorf("after TERM: %v", got)
	}
	if last := c.call("poll-command", poll); last["running"] != false || last["exitCode"] != 143.0 {
		t.Errorf("the end: %v", last)
	}
	c.fails(mcpserver.CodeConflict, "signal-command", args{"name": "box", "job": first["job"]})
	c.fails(mcpserver.CodeNotFound, "poll-command", args{"name": "box", "job": "job-20260101-000000-abcdef"})
	c.fails(mcpserver.CodeInvalid, "poll-command", args{"name": "box", "job": "../x"})
	list := c.call("list-commands", args{"name": "box"})["commands"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["command"] != "hang" {
		t.Errorf("the list: %v", list)
	}
	lost := c.call("run-command", args{"name": "box", "command": "hang", "waitSecs": 0})["job"]
	c.call("stop-machine", args{"name": "box"})
	for _, tool := range []string{"poll-command", "signal-command"} {
		c.fails(mcpserver.CodeConflict, tool, args{"name": "box", "job": lost})
	}
	c.fails(mcpserver.CodeConflict, "list-commands", args{"name": "box"})
	c.call("start-machine", args{"name": "box"})
	if got := c.call("poll-command", args{"name": "box", "job": lost}); got["running"] != false || got["exitCode"] != nil {
		t.Errorf("a job whose machine was stopped: %v", got)
	}
}

// TestProgress asks to be told of a command that takes a while, and takes the call back: the command goes on.
func TestProgress(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	var mu sync.Mutex
	var told []string
	heard := make(chan struct{}, 100)
	c := connect(t, s.Server, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			told = append(told, req.Params.Message)
			mu.Unlock()
			heard <- struct{}{}
		},
	})
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	ctx, cancel := context.WithCancel(t.Context())
	params := &mcp.CallToolParams{Name: "run-command", Arguments: args{"name": "box", "command": "hang"}}
	params.SetProgressToken("t")
	done := make(chan error, 1)
	go func() { _, err := c.CallTool(ctx, params); done <- err }()
	select {
	case <-heard:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was told of")
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that was taken back has an answer")
	}
	mu.Lock()
	defer mu.Unlock()
	if told[0] != "partial" {
		t.Errorf("told of %q", told)
	}
	list := c.call("list-commands", args{"name": "box"})["commands"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["state"] != "running" {
		t.Errorf("after the call was taken back: %v", list)
	}
}
