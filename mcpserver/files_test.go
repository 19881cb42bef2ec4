package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
)

// TestPages reads a text of characters of several lengths in pages of every length, which together are the text.
func TestPages(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	const text = "aé€😀\nzß"
	c.call("write-file", args{"name": "box", "path": "/workspace/t", "content": text})
	for _, length := range []int{1, 2, 3, 5, 100} {
		var got strings.Builder
		for offset := 0; ; {
			page := c.call("read-file", args{"name": "box", "path": "/workspace/t", "offset": offset, "length": length})
			n := int(page["bytes"].(float64))
			if page["size"] != float64(len(text)) || n == 0 && page["eof"] != true {
				t.Fatalf("length %d, offset %d: %v", length, offset, page)
			}
			got.WriteString(page["content"].(string))
			if offset += n; page["eof"] == true {
				break
			}
		}
		if got.String() != text {
			t.Errorf("pages of %d: %q", length, got.String())
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	c.call("create-machine", args{"image": "alpine", "name": "box", "network": "open"})
	file := func(path string, more args) args {
		a := args{"name": "box", "path": path}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	c.call("write-file", file("/workspace/b", args{"content": "/wD+", "encoding": "base64"}))
	if text := c.fails(mcpserver.CodeInvalid, "read-file", file("/workspace/b", nil)); !strings.Contains(text, "base64") {
		t.Errorf("bytes as text: %s", text)
	}
	if got := c.call("read-file", file("/workspace/b", args{"encoding": "base64"})); got["content"] != "/wD+" || got["bytes"] != 3.0 {
		t.Errorf("bytes: %v", got)
	}
	if got := c.call("write-file", file("/workspace/empty", args{"content": ""})); got["size"] != 0.0 {
		t.Errorf("an empty file: %v", got)
	}
	if got := c.call("read-file", file("/workspace/empty", nil)); got["content"] != "" || got["eof"] != true {
		t.Errorf("an empty file: %v", got)
	}
	if got := c.call("read-file", file("/workspace/b", args{"offset": 50})); got["bytes"] != 0.0 || got["size"] != 3.0 || got["eof"] != true {
		t.Errorf("behind the end: %v", got)
	}
	c.fails(mcpserver.CodeNotFound, "read-file", file("/workspace/none", nil))
	c.fails(mcpserver.CodeInvalid, "read-file", file("/workspace", nil))
	c.fails(mcpserver.CodeInvalid, "read-file", file("relative", nil))
	c.fails(mcpserver.CodeInvalid, "write-file", file("/workspace/a\x00b", args{"content": "x"}))
}
