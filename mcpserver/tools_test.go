package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
)

// TestEveryTool calls every tool on each fleet as an agent would, and holds each result against its schema.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	fleets := map[string]func(t *testing.T) *server{
		"local": func(t *testing.T) *server { s, _ := locally(t, nil); return s },
		"cloud": func(t *testing.T) *server { s, _ := inCloud(t, nil); return s },
	}
	for name, start := range fleets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, start(t).Server, nil)
			check := newChecker(t, c)
			made := check("create-machine", args{"image": "alpine:3.20", "name": "box", "network": "open", "branchable": true})
			if made["ready"] != true || made["ephemeral"] != false {
				t.Errorf("create-machine says %v", made)
			}
			check("create-machine", args{"image": "alpine:3.20", "network": "open", "start": false})
			check("list-machines", nil)
			logs := check("machine-logs", args{"name": "box"})
			if more := check("machine-logs", args{"name": "box", "cursor": logs["cursor"]}); len(more["lines"].([]any)) != 0 || more["truncated"] != false {
				t.Errorf("after all of the log comes %v", more)
			}
			check("get-machine", args{"name": "box"})
			check("write-file", args{"name": "box", "path": "/workspace/a.txt", "content": "grüß <dich>\n"})
			if got := check("read-file", args{"name": "box", "path": "/workspace/a.txt"})["content"]; got != "grüß <dich>\n" {
				t.Errorf("read back %q", got)
			}
			if got := check("run-command", args{"name": "box", "command": args2("echo", "a b")})["stdout"]; got != "a b\n" {
				t.Errorf("echo says %q", got)
			}
			flood := check("run-command", args{"name": "box", "command": "flood"})
			if flood["truncated"] != true || len(flood["overflow"].([]any)) != 1 {
				t.Errorf("a flood has truncated %v, overflow %v", flood["truncated"], flood["overflow"])
			}
			once := check("run-once", args{"image": "alpine:3.20", "command": "fail", "network": "open"})
			if once["exitCode"] != 3.0 || once["stderr"] != "no\n" {
				t.Errorf("run-once says %v", once)
			}
			running := check("run-command", args{"name": "box", "command": "hang", "waitSecs": 0})
			job := running["job"]
			check("list-commands", args{"name": "box"})
			check("poll-command", args{"name": "box", "job": job, "waitSecs": 0})
			if got := check("signal-command", args{"name": "box", "job": job, "signal": "KILL"}); got["state"] != "signaled" {
				t.Errorf("after KILL the job is %v", got["state"])
			}
			check("branch-machine", args{"name": "box", "childName": "mcp-twig"})
			if name == "local" {
				check("pull-image", args{"name": "mcp-twig", "image": "alpine:3.19"})
			} else {
				c.fails(mcpserver.CodeUnsupported, "pull-image", args{"name": "box", "image": "alpine:3.19"})
			}
			check("delete-machine", args{"name": "mcp-twig"})
			check("stop-machine", args{"name": "box"})
			check("start-machine", args{"name": "box"})
			check("delete-machine", args{"name": "box"})
			c.fails(mcpserver.CodeNotFound, "get-machine", args{"name": "box"})
		})
	}
}

// args2 is a command as a list.
func args2(argv ...string) []any {
	out := make([]any, len(argv))
	for i, a := range argv {
		out[i] = a
	}
	return out
}

// checker calls a tool and holds the result against the tool's schema.
type checker func(tool string, a map[string]any) map[string]any

func newChecker(t *testing.T, c *client) checker {
	t.Helper()
	schemas := map[string]*jsonschema.Resolved{}
	for _, tool := range tools(t, c) {
		schemas[tool.Name] = resolve(t, tool.OutputSchema)
	}
	return func(tool string, a map[string]any) map[string]any {
		t.Helper()
		out := c.call(tool, a)
		if err := schemas[tool].Validate(out); err != nil {
			t.Errorf("%s: the result does not fit the schema: %v\n%v", tool, err, out)
		}
		return out
	}
}

func tools(t testing.TB, c *client) []*mcp.Tool {
	t.Helper()
	res, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Tools
}

func resolve(t testing.TB, schema any) *jsonschema.Resolved {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestArgumentsAreRefusedByName(t *testing.T) {
	t.Parallel()
	s, _ := locally(t, nil)
	c := connect(t, s.Server, nil)
	tests := []struct {
		tool string
		args args
		want string
	}{
		{"get-machine", args{"name": "x", "nmae": "y"}, `"nmae"`},
		{"get-machine", args{"name": "x", "target": "local"}, `"target"`},
		{"get-machine", args{}, "name"},
		{"get-machine", args{"name": 5}, "name"},
		{"get-machine", args{"name": nil}, "name"},
		{"get-machine", args{"name": ""}, "name"},
		{"create-machine", args{"image": "alpine", "network": "wide"}, "network"},
		{"create-machine", args{"image": "alpine", "ports": args2("80")}, "ports"},
		{"create-machine", args{"image": "alpine", "ports": []any{args{"guest": 80, "gast": 1}}}, "gast"},
		{"create-machine", args{"image": "alpine", "name": "a/b"}, "name"},
		{"run-command", args{"name": "x", "command": []any{}}, "command"},
		{"run-command", args{"name": "x", "command": args{"a": 1}}, "command"},
		{"run-command", args{"name": "x", "command": "true", "env": args{"A=B": "c"}}, "A=B"},
		{"run-command", args{"name": "x", "command": "true", "env": args{"": "c"}}, "an empty name"},
		{"run-once", args{"image": "x", "command": "true", "env": args{"A-B": "c"}}, `argument env has the name "A-B"; allowed are`},
		{"create-machine", args{"image": "x", "env": args{"9A": "c"}}, `the name "9A"; allowed are`},
		{"run-command", args{"name": "x", "command": "true", "timeoutSecs": 0}, "timeoutSecs"},
		{"read-file", args{"name": "x", "path": "/a", "offset": -1}, "offset"},
		{"write-file", args{"name": "x", "path": "/a", "content": "%%%", "encoding": "base64"}, "content"},
		{"signal-command", args{"name": "x", "job": "job-1", "signal": "STOP"}, "signal"},
	}
	for _, tt := range tests {
		if text := c.fails(mcpserver.CodeInvalid, tt.tool, tt.args); !strings.Contains(text, tt.want) {
			t.Errorf("%s(%v): the text does not name %s: %s", tt.tool, tt.args, tt.want, text)
		}
	}
	c.fails(mcpserver.CodeTimeoutTooLong, "run-command", args{"name": "x", "command": "true", "timeoutSecs": 901})
	if n := len(listNames(c)); n != 0 {
		t.Errorf("%d machines were made by calls that were refused", n)
	}
}

func listNames(c *client) []string {
	c.t.Helper()
	var names []string
	for _, m := range c.call("list-machines", nil)["machines"].([]any) {
		names = append(names, m.(map[string]any)["name"].(string))
	}
	return names
}
