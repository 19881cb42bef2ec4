package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// guest answers the commands of the tests; a script is one of a few words.
func guest() smoltest.Guest {
	return smoltest.Script(func(ctx context.Context, c *smoltest.Call) int {
		if len(c.Argv) == 3 && c.Argv[0] == "sh" {
			return script(ctx, c, c.Argv[2])
		}
		switch c.Argv[0] {
		case "echo":
			fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
			return 0
		case "cat":
			io.Copy(c.Stdout, c.Stdin)
			return 0
		default:
			return smoltest.NotFound
		}
	})
}

func script(ctx context.Context, c *smoltest.Call, text string) int {
	switch word, rest, _ := strings.Cut(text, " "); word {
	case "echo":
		fmt.Fprintln(c.Stdout, rest)
		return 0
	case "fail":
		fmt.Fprintln(c.Stderr, "no")
		return 3
	case "flood":
		io.WriteString(c.Stdout, strings.Repeat("0123456789abcde\n", 16<<10))
		return 0
	case "where":
		fmt.Fprintf(c.Stdout, "%s %s", c.Dir, c.Getenv("WHO"))
		return 0
	case "html":
		io.WriteString(c.Stdout, "<b>&</b>")
		return 0
	case "hang":
		fmt.Fprintln(c.Stdout, "partial")
		<-ctx.Done()
		return 1
	case "say":
		io.WriteString(c.Stdout, rest)
		return 0
	default:
		return 0
	}
}

// server is a server under test with what it logged.
type server struct {
	*mcpserver.Server
	log *bytes.Buffer
}

// locally returns a server of a local stand-in.
func locally(t *testing.T, change func(*mcpserver.Options)) (*server, *smoltest.Local) {
	t.Helper()
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: guest()})
	return serve(t, func(o *mcpserver.Options) {
		o.Config.Targets = "local"
		o.Local = mcpserver.FixedFleet(l.Service(t).Fleet)
		if change != nil {
			change(o)
		}
	}), l
}

// inCloud returns a server of a stand-in of the cloud.
func inCloud(t *testing.T, change func(*mcpserver.Options)) (*server, *smoltest.Cloud) {
	t.Helper()
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: guest()})
	return serve(t, func(o *mcpserver.Options) {
		o.Config.Targets = "cloud"
		o.Cloud = mcpserver.FixedFleet(c.Service(t).Fleet)
		if change != nil {
			change(o)
		}
	}), c
}

func serve(t *testing.T, change func(*mcpserver.Options)) *server {
	t.Helper()
	s := &server{log: &bytes.Buffer{}}
	o := &mcpserver.Options{Config: mcpserver.DefaultConfig(), Logger: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	o.Config.RuntimeDir = filepath.Join(t.TempDir(), "run")
	change(o)
	srv, err := mcpserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = srv
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// client is a client under test.
type client struct {
	*mcp.ClientSession
	t testing.TB
}

// connect returns a client in memory, which leaves at the end of the test.
func connect(t testing.TB, s *mcpserver.Server, o *mcp.ClientOptions) *client {
	t.Helper()
	return connectVersion(t, s, o, "")
}

func connectVersion(t testing.TB, s *mcpserver.Server, o *mcp.ClientOptions, version string) *client {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	if _, err := s.MCP().Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return &client{cs, t}
}

// call calls a tool, whose text must be the JSON of its structured result.
func (c *client) call(tool string, args map[string]any) map[string]any {
	c.t.Helper()
	res := c.raw(tool, args)
	text := textOf(c.t, res)
	if res.IsError {
		c.t.Fatalf("%s(%v): %s", tool, args, text)
	}
	var fromText, out map[string]any
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &fromText); err != nil {
		c.t.Fatalf("%s: the text is no JSON: %v", tool, err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		c.t.Fatal(err)
	}
	if fmt.Sprint(fromText) != fmt.Sprint(out) {
		c.t.Errorf("%s: the text says\n%s\nand the structure\n%s", tool, text, data)
	}
	return out
}

// fails calls a tool that fails with the code, and returns the text.
func (c *client) fails(code mcpserver.ErrorCode, tool string, args map[string]any) string {
	c.t.Helper()
	res := c.raw(tool, args)
	text := textOf(c.t, res)
	if !res.IsError || !strings.HasPrefix(text, string(code)+": ") {
		c.t.Errorf("%s(%v) is not %s: %s", tool, args, code, text)
	}
	if res.IsError && res.StructuredContent != nil {
		c.t.Errorf("%s: a failure has the structured content %v", tool, res.StructuredContent)
	}
	return text
}

func (c *client) raw(tool string, args map[string]any) *mcp.CallToolResult {
	c.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	res, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s(%v): %v", tool, args, err)
	}
	return res
}

func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) == 0 {
		t.Fatal("the result has no content")
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the first content is %T", res.Content[0])
	}
	return text.Text
}

type args = map[string]any

// connectOld returns a client of the protocol as it was before the newest version.
func connectOld(t testing.TB, s *mcpserver.Server, o *mcp.ClientOptions) *client {
	t.Helper()
	return connectVersion(t, s, o, "2025-06-18")
}
