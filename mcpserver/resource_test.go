package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (c *client) resource(uri string) (*mcp.ResourceContents, error) {
	res, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	return res.Contents[0], nil
}

func TestFilesAsResources(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	odd, escaped := "/workspace/a b/grüß?#%.txt", "/workspace/a%20b/gr%C3%BC%C3%9F%3F%23%25.txt"
	for path, content := range map[string]string{odd: "grüß <dich>\n", "/workspace/empty": ""} {
		c.call("write-file", args{"name": "box", "path": path, "content": content})
	}
	c.call("write-file", args{"name": "box", "path": "/workspace/blob", "content": "AP8Q", "encoding": "base64"})
	tests := []struct{ uri, mime, text, blob string }{
		{escaped, "text/plain", "grüß <dich>\n", ""},
		{"/workspace%2Fempty", "text/plain", "", ""},
		{"/workspace/blob", "application/octet-stream", "", "\x00\xff\x10"},
	}
	for _, tt := range tests {
		got, err := c.resource("smol://machine/local/box/file" + tt.uri)
		if err != nil {
			t.Errorf("%s: %v", tt.uri, err)
			continue
		}
		if got.MIMEType != tt.mime || got.Text != tt.text || !bytes.Equal(got.Blob, []byte(tt.blob)) {
			t.Errorf("%s: %q %q %q", tt.uri, got.MIMEType, got.Text, got.Blob)
		}
	}
	flood := c.raw("run-command", args{"name": "box", "command": "flood"})
	link, ok := flood.Content[1].(*mcp.ResourceLink)
	if !ok {
		t.Fatalf("the result has no link: %v", flood.Content)
	}
	whole, err := c.resource(link.URI)
	if err != nil || whole.Text != strings.Repeat("0123456789abcde\n", 16<<10) {
		t.Errorf("%s has %d bytes: %v", link.URI, len(whole.Text), err)
	}
	logs, err := c.resource("smol://machine/local/box/logs")
	if err != nil || logs.MIMEType != "text/plain" || !strings.HasSuffix(logs.Text, "\n") {
		t.Errorf("the logs are %+v: %v", logs, err)
	}
}

// TestHostileURIs reads what is not there to be read. Nothing is asked of a fleet but what names a machine and a whole path.
func TestHostileURIs(t *testing.T) {
	t.Parallel()
	s, l := locally(t, nil)
	c := connect(t, s.Server, nil)
	long := strings.Repeat("a", 5000)
	for _, uri := range []string{
		"", "x", "smol:", "smol://", "smol://machine", "smol://machine/local/box", "smol://machine/local/box/", "smol://machine/local/box/file",
		"smol://machine/local/box/file/", "smol://machine/local/box/logs/", "smol://machine/local/box/logs?tail=5", "smol://machine/local/box/logs#x",
		"smol://machine/moon/box/logs", "smol://machine/cloud/box/logs", "smol://user@machine/local/box/logs", "smol://machine:80/local/box/logs",
		"smol://machine/local/box/file/../etc/passwd", "smol://machine/local/box/file/%2e%2e/x", "smol://machine/local/box/file/a/%2E/b",
		"smol://machine/local/box/file/a%2f..%2fb", "smol://machine/local/box/file//a", "smol://machine/local/box/file/a%00b", "smol://machine/local/box/file/a%00",
		"smol://machine/local/box/file/%ff", "smol://machine/local/box/file/%zz", "smol://machine/local/box/file/a/", "smol://machine/local/box/file/a?b",
		"smol://machine/local/..%2fbox/logs", "smol://machine/local/b%00x/logs", "smol://machine/local//logs", "smol://machine/local/" + long + "/logs",
		"smol://machine/local/box/file/" + long, "SMOL://machine/local/box/other", "file:///etc/passwd",
	} {
		_, err := c.resource(uri)
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%.80q: %v", uri, err)
		}
	}
	if n := l.Count("*", "/api/v1/machines/**"); n > 0 {
		t.Errorf("the fleet was asked %d times", n)
	}
	_, err := c.resource("smol://machine/local/none/file/etc/hostname")
	if err == nil || !strings.Contains(err.Error(), "NOT_FOUND: ") {
		t.Errorf("a machine that is not there: %v", err)
	}
}

func TestTargetsAsResource(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	got, err := connect(t, s.Server, nil).resource("smol://targets")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Targets []struct {
			Target, Summary string
			Served          bool
			Unavailable     *string
			Cannot          []string
		}
	}
	if err := json.Unmarshal([]byte(got.Text), &v); err != nil || len(v.Targets) != 2 || !v.Targets[0].Served || v.Targets[1].Served || v.Targets[0].Unavailable != nil {
		t.Errorf("%s: %v", got.Text, err)
	}
}
