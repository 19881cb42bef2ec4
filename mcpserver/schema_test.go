package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/mcpserver"
	"github.com/smol-machines/smol-go/smol"
)

var update = flag.Bool("update", false, "write testdata/schema anew")

// unreachable is a fleet that is never asked.
func unreachable() mcpserver.FleetSource { return mcpserver.FixedFleet(smol.NewFleet(&deadBackend{})) }

// listedBy returns what a server for the targets lists, one JSON a tool.
func listedBy(t *testing.T, targets string, change func(*mcpserver.Config)) map[string][]byte {
	t.Helper()
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Local, o.Cloud = targets, unreachable(), unreachable()
		if change != nil {
			change(o.Config)
		}
	})
	out := map[string][]byte{}
	for _, tool := range tools(t, connect(t, s.Server, nil)) {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		if err := enc.Encode(tool); err != nil {
			t.Fatal(err)
		}
		out[tool.Name] = buf.Bytes()
	}
	return out
}

// TestSchemas holds what clients are told of each tool, in each mode, against what was agreed on.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"local", "cloud", "both"} {
		dir := filepath.Join("testdata", "schema", mode)
		list := listedBy(t, mode, nil)
		if *update {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, data := range list {
				if err := os.WriteFile(filepath.Join(dir, name+".json"), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if _, ok := list[strings.TrimSuffix(f.Name(), ".json")]; !ok {
				t.Errorf("%s/%s: there is no such tool", dir, f.Name())
			}
		}
		for name, got := range list {
			want, err := os.ReadFile(filepath.Join(dir, name+".json"))
			if err != nil {
				t.Errorf("mode %s: %v; run go test -update", mode, err)
				continue
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("mode %s, %s: -agreed +listed:\n%s", mode, name, diff)
			}
		}
	}
}

// TestSchemasSuitEveryClient refuses what some client does not take, and what costs an agent too much.
func TestSchemasSuitEveryClient(t *testing.T) {
	t.Parallel()
	total := 100 // the commas and what else an answer has
	for name, data := range listedBy(t, "both", nil) {
		var tool struct {
			Title, Description        string
			InputSchema, OutputSchema map[string]any
			Annotations               map[string]any
		}
		if err := json.Unmarshal(data, &tool); err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			t.Fatal(err)
		}
		total += compact.Len()
		if n := len(tool.Description); n == 0 || n > 2048 {
			t.Errorf("%s: the description has %d bytes", name, n)
		}
		if tool.Title == "" || tool.OutputSchema["type"] != "object" {
			t.Errorf("%s lacks a title or an output schema", name)
		}
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := tool.Annotations[hint].(bool); !ok {
				t.Errorf("%s lacks the %s", name, hint)
			}
		}
		for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "if", "$ref"} {
			if tool.InputSchema[word] != nil || tool.OutputSchema[word] != nil {
				t.Errorf("%s has %s at the top of a schema", name, word)
			}
		}
		if tool.InputSchema["additionalProperties"] != false {
			t.Errorf("%s takes unknown arguments", name)
		}
		if required, _ := tool.InputSchema["required"].([]any); !slices.Contains(required, any("target")) {
			t.Errorf("%s does not require target", name)
		}
		if input, _ := json.Marshal(tool.InputSchema); bytes.Contains(input, []byte(`"null"`)) {
			t.Errorf("%s: an argument can be null: %s", name, input)
		}
		if bytes.Contains(data, []byte(`["null"`)) || bytes.Contains(data, []byte(`"null"]`)) {
			t.Errorf("%s has a union of types", name)
		}
	}
	if total > 24<<10 {
		t.Errorf("the list of tools has %d bytes; the limit is %d", total, 24<<10)
	}
}

func TestToolsets(t *testing.T) {
	t.Parallel()
	all := []string{
		"branch-machine", "create-machine", "delete-machine", "get-machine", "list-commands", "list-machines", "machine-logs", "poll-command",
		"pull-image", "read-file", "run-command", "run-once", "signal-command", "start-machine", "stop-machine", "write-file",
	}
	jobs := []string{"list-commands", "poll-command", "signal-command"}
	tests := []struct {
		name   string
		change func(*mcpserver.Config)
		want   []string
	}{
		{"default", nil, all},
		{"jobs", func(c *mcpserver.Config) { c.Toolsets = []string{"jobs"} }, jobs},
		{"core", func(c *mcpserver.Config) { c.Toolsets = []string{"core"} }, slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(jobs, n) })},
		{"read-only", func(c *mcpserver.Config) { c.ReadOnly = true }, []string{"get-machine", "list-commands", "list-machines", "machine-logs", "poll-command", "read-file"}},
	}
	for _, tt := range tests {
		var got []string
		for name := range listedBy(t, "local", tt.change) {
			got = append(got, name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}
