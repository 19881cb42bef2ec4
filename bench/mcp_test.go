//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server returns a command that serves the stand-in's machines over its standard streams.
func server(tb testing.TB) *exec.Cmd {
	tb.Helper()
	bin := filepath.Join(filepath.Dir(service.bin), "smol-mcp")
	if _, err := os.Stat(bin); errors.Is(err, os.ErrNotExist) {
		if out, err := exec.Command("go", "build", "-o", bin, "../cmd/smol-mcp").CombinedOutput(); err != nil {
			tb.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "SMOL_LOCAL_URL=unix://"+service.socket, "SMOL_MCP_TARGETS=local", "SMOL_MCP_RUNTIME_DIR="+filepath.Join(filepath.Dir(service.bin), "run"))
	return cmd
}

// agent returns a client of a server of its own, in a process as an agent starts it, and the id of that.
func agent(tb testing.TB) (*mcp.ClientSession, int) {
	tb.Helper()
	cmd := server(tb)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(tb.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := cs.Close(); err != nil {
			tb.Error(err)
		}
	})
	return cs, cmd.Process.Pid
}

// TestServerStart measures from the start of the server to its answer to initialize, against a program of Node.js that does nothing.
func TestServerStart(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed, so there is nothing to compare the start with")
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	var rest []func() error // the ends of servers, which are not measured
	start := func() error {
		cmd := server(t)
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		rest = append(rest, func() error { return errors.Join(in.Close(), cmd.Wait()) })
		if _, err := io.WriteString(in, hello); err != nil {
			return err
		}
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err == nil && !bytes.Contains(line, []byte(`"smol-mcp"`)) {
			err = fmt.Errorf("initialize: %s", line)
		}
		return err
	}
	bare := func() error {
		for _, end := range rest {
			if err := end(); err != nil {
				return err
			}
		}
		rest = nil
		return exec.Command(node, "-e", "0").Run()
	}
	times := alternate(t, 25, func() error { return exec.Command(node, "-e", "0").Run() }, start, bare)
	ratio := float64(times[1]) / float64(times[0])
	bound(t, ratio <= 0.4, "start to initialize: %v, node -e 0: %v, %.2f of it (bound 0.40)", times[1], times[0], ratio)
	if err := bare(); err != nil {
		t.Error(err)
	}
}

// lineAgent is a client that does nothing but write a line and read a line.
type lineAgent struct {
	id  int
	in  io.Writer
	out *bufio.Reader
	pid int
}

// newLineAgent returns a client of a server of its own that has been greeted.
func newLineAgent(tb testing.TB) *lineAgent {
	tb.Helper()
	cmd := server(tb)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			tb.Error(err)
		}
	})
	a := &lineAgent{in: in, out: bufio.NewReaderSize(out, 64<<10), pid: cmd.Process.Pid}
	if _, err := a.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}}); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		tb.Fatal(err)
	}
	return a
}

// ask returns the result of a request.
func (a *lineAgent) ask(method string, params any) (json.RawMessage, error) {
	a.id++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := a.in.Write(append(data, '\n')); err != nil {
		return nil, err
	}
	line, err := a.out.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.ID != a.id || answer.Result == nil {
		return nil, fmt.Errorf("%s: %s", method, line)
	}
	return answer.Result, nil
}

// toolCall returns a function that looks at a machine through the tool. Meta is what the request carries besides; nil: nothing.
func (a *lineAgent) toolCall(name string, meta map[string]any) func() error {
	params := map[string]any{"name": "get-machine", "arguments": map[string]any{"name": name}}
	if meta != nil {
		params["_meta"] = meta
	}
	return func() error {
		data, err := a.ask("tools/call", params)
		if err != nil {
			return err
		}
		var res struct {
			IsError    bool
			Structured struct{ Name string } `json:"structuredContent"`
		}
		if err := json.Unmarshal(data, &res); err != nil {
			return err
		}
		if res.IsError || res.Structured.Name != name {
			return fmt.Errorf("get-machine: %s", data)
		}
		return nil
	}
}

// TestToolCall measures what a call of a tool adds to the call of the library that it makes: from the line that a client writes to the answer that it has
// read, in the two forms of the protocol. The second one is what the client of the SDK sends. What that client takes for itself is not the
// server's, but is shown too.
func TestToolCall(t *testing.T) {
	m := machine(t, "alpine")
	cs, _ := agent(t)
	sdk := func() error {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "get-machine", Arguments: map[string]any{"name": m.Name()}})
		if err == nil && res.IsError {
			err = fmt.Errorf("get-machine: %v", res.Content)
		}
		return err
	}
	lib := func() error { _, err := m.Info(t.Context()); return err }
	a := newLineAgent(t)
	session := a.toolCall(m.Name(), nil)
	stateless := newLineAgent(t).toolCall(m.Name(), map[string]any{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientInfo:         map[string]any{"name": "bench", "version": "1"},
		mcp.MetaKeyClientCapabilities: map[string]any{"roots": map[string]any{"listChanged": true}},
	})
	times := alternate(t, 500, lib, session, stateless, sdk)
	for i, form := range []string{"2025-06-18", "2026-07-28"} {
		over := times[i+1] - times[0]
		bound(t, over <= 600*time.Microsecond, "tool call, protocol %s: library %v, tool %v, over it %v (bound 600µs)", form, times[0], times[i+1], over)
	}
	t.Logf("through the client of the SDK: %v, over the library %v, of which its own %v", times[3], times[3]-times[0], times[3]-times[2])

	for range 500 { // a thousand with those above
		if err := session(); err != nil {
			t.Fatal(err)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid))
	if err != nil {
		t.Skipf("this system does not tell the memory of a process: %v", err)
	}
	_, text, _ := strings.Cut(string(status), "VmRSS:")
	var kib int
	if _, err := fmt.Sscan(text, &kib); err != nil {
		t.Fatal(err)
	}
	bound(t, kib <= 25_000, "resident after 1,000 calls: %.1f MB (bound 25)", float64(kib)*1024/1e6)
}
