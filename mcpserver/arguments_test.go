package mcpserver_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
)

// misfits returns values that do not fit a schema, by the path of what is wrong with them and the beginning of what would be right.
func misfits(s *jsonschema.Schema, path string) map[string][]any {
	out := map[string][]any{}
	must := func(what string, values ...any) {
		out[path+": must be "+what] = append(values, nil, true, 1.5)
		if s.Type == "boolean" {
			out[path+": must be "+what] = append(values, nil, 1)
		}
	}
	inside := func(s *jsonschema.Schema, path string, wrap func(any) any) {
		for want, values := range misfits(s, path) {
			for _, v := range values {
				out[want] = append(out[want], wrap(v))
			}
		}
	}
	switch {
	case s.Enum != nil:
		must("one of ", "moon", "", 1, []any{}, args{})
	case s.AnyOf != nil:
		must("a string or a list of strings that is not empty", 1, []any{}, args{})
		inside(&jsonschema.Schema{Type: "string"}, path+"[1]", func(v any) any { return []any{"x", v} })
	case s.Type == "integer":
		must("a whole number", "x", "1", []any{}, args{}, json.Number("1e30"), json.Number("1.0"), json.Number("1e3"))
		if s.Minimum != nil {
			out[path+": must be a whole number"] = append(out[path+": must be a whole number"], *s.Minimum-1)
		}
		if s.Maximum != nil {
			out[path+": must be a whole number from "] = []any{*s.Maximum + 1}
		}
	case s.Type == "boolean":
		must("true or false", "x", "true", []any{}, args{})
	case s.Type == "array":
		must("a list of "+s.Items.Type+"s", "x", 1, args{})
		inside(s.Items, path+"[1]", func(v any) any { return []any{fitting(s.Items), v} })
	case s.Properties != nil:
		must("an object with ", "x", 1, []any{})
		out[path+`["gest"]: unknown; there are `] = []any{withArgument(fitting(s).(args), "gest", 1)}
		for _, name := range s.Required {
			without := maps.Clone(fitting(s).(args))
			delete(without, name)
			out[path+"."+name+": missing; it must be a"] = []any{without}
		}
		for name, p := range s.Properties {
			inside(p, path+"."+name, func(v any) any { return withArgument(fitting(s).(args), name, v) })
		}
	case s.Type == "object":
		must("an object whose values are strings", "x", 1, []any{})
		inside(s.AdditionalProperties, path+`["A"]`, func(v any) any { return args{"A": v} })
	default:
		must("a string", 1, []any{"x"}, args{})
	}
	return out
}

func withArgument(a args, name string, v any) args {
	out := maps.Clone(a)
	out[name] = v
	return out
}

// fitting returns a value that fits a schema.
func fitting(s *jsonschema.Schema) any {
	switch {
	case s.Enum != nil:
		return s.Enum[0]
	case s.Type == "integer":
		return 1
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{}
	case s.Type == "object":
		out := args{}
		for _, name := range s.Required {
			out[name] = fitting(s.Properties[name])
		}
		return out
	default:
		return "x"
	}
}

// TestArguments gives every argument of every tool what does not fit. The answer names the argument and what would be right, in an agent's words.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *mcpserver.Options) { o.Config.Targets, o.Local, o.Cloud = "both", unreachable(), unreachable() })
	c := connect(t, s.Server, nil)
	seen := map[string]bool{}
	for _, tool := range tools(t, c) {
		var in jsonschema.Schema
		data, err := json.Marshal(tool.InputSchema)
		if err == nil {
			err = json.Unmarshal(data, &in)
		}
		if err != nil {
			t.Fatal(err)
		}
		whole := fitting(&in).(args)
		for _, name := range in.Required {
			without := maps.Clone(whole)
			delete(without, name)
			c.refuses(tool, without, "missing argument "+name)
		}
		c.refuses(tool, withArgument(whole, "gest", 1), `unknown argument "gest"`)
		for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
			schema, err := json.Marshal(in.Properties[name])
			if err != nil {
				t.Fatal(err)
			}
			for want, values := range misfits(in.Properties[name], name) {
				if seen[name+string(schema)] {
					values = values[:1] // another tool has had the rest
				}
				for _, v := range values {
					c.refuses(tool, withArgument(whole, name, v), want)
				}
			}
			seen[name+string(schema)] = true
		}
	}
}

func (c *client) refuses(tool *mcp.Tool, a args, want string) {
	c.t.Helper()
	text := c.fails(mcpserver.CodeInvalid, tool.Name, a)
	text = strings.TrimPrefix(text, "INVALID: ")
	if !strings.HasPrefix(text, want) || strings.Contains(text, "schema") || strings.Contains(text, "reflect") || strings.Contains(text, "%!") || len(text) > 500 {
		c.t.Errorf("%s(%v): %q, want %q", tool.Name, a, text, want)
	}
}

// TestArgumentWords has some of these answers in full.
func TestArgumentWords(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *mcpserver.Options) { o.Config.Targets, o.Local = "local", unreachable() })
	c := connect(t, s.Server, nil)
	for want, a := range map[string]args{
		`cpus: must be a whole number, got "x"`:                                       {"cpus": "x"},
		`cpus: must be a whole number, got null; leave it out instead`:                {"cpus": nil},
		`network: must be one of "blocked", "open", got "on"`:                         {"network": "on"},
		`ports[1].guest: must be a whole number from 1 to 65535, got 0`:               {"ports": []any{args{"guest": 1}, args{"guest": 0}}},
		`ports[0].guest: missing; it must be a whole number from 1 to 65535`:          {"ports": []any{args{}}},
		`ports[0]["gest"]: unknown; there are guest, host`:                            {"ports": []any{args{"guest": 1, "gest": 1}}},
		`env["A"]: must be a string, got 1`:                                           {"env": args{"A": 1}},
		`allowHosts: must be a list of strings, got "example.com"`:                    {"allowHosts": "example.com"},
		`cmd[0]: must be a string, got an object`:                                     {"cmd": []any{args{}}},
		`name: must be a string, got a list`:                                          {"name": []any{strings.Repeat("x", 1000)}},
		`branchable: must be true or false, got "` + strings.Repeat("y", 40) + `..."`: {"branchable": strings.Repeat("y", 1000)},
		`mounts: must be a list of objects, got an object`:                            {"mounts": args{"source": "/a"}},
		`memoryMb: must be a whole number, got 1.5`:                                   {"memoryMb": 1.5},
	} {
		a["image"] = "alpine"
		if text := c.fails(mcpserver.CodeInvalid, "create-machine", a); text != "INVALID: "+want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
