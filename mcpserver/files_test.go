package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
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

// TestReadOnlyBootsNothing: a server that changes nothing reads files of machines that run, and of no other.
func TestReadOnlyBootsNothing(t *testing.T) {
	t.Parallel()
	s, l := locally(t, func(o *mcpserver.Options) { o.Config.ReadOnly = true })
	m, err := l.Service(t).Fleet.Create(t.Context(), smol.Spec{Name: "box", Image: "alpine", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(t.Context(), "/workspace/a", []byte("text"), nil); err != nil {
		t.Fatal(err)
	}
	c := connect(t, s.Server, nil)
	file := args{"name": "box", "path": "/workspace/a"}
	if got := c.call("read-file", file); got["content"] != "text" || got["startedMachine"] != false {
		t.Errorf("of a machine that runs: %v", got)
	}
	if err := m.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	before := l.Count("POST", "/api/v1/machines/*/start")
	if text := c.fails(mcpserver.CodeConflict, "read-file", file); !strings.Contains(text, "box is stopped") {
		t.Errorf("of a machine that does not run: %s", text)
	}
	if n := l.Count("POST", "/api/v1/machines/*/start") - before; n != 0 {
		t.Errorf("%d machines were booted", n)
	}
	c.fails(mcpserver.CodeNotFound, "read-file", args{"name": "none", "path": "/workspace/a"})
}
