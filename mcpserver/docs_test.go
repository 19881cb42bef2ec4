package mcpserver_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/mcpserver"
)

// TestDocsAreCurrent holds the tables of the documentation against the program. Each stands between two comments.
func TestDocsAreCurrent(t *testing.T) {
	t.Parallel()
	long, short := toolTables(t)
	for file, tables := range map[string]map[string]string{
		"../README.md":        {"tools": short},
		"../docs/smol-mcp.md": {"tools": long, "settings": settingTable(), "codes": codeTable()},
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := string(data)
		for name, table := range tables {
			begin, end := "<!-- "+name+": generated -->\n", "<!-- end of "+name+" -->"
			before, rest, ok := strings.Cut(want, begin)
			_, after, ok2 := strings.Cut(rest, end)
			if !ok || !ok2 {
				t.Fatalf("%s lacks the comments around %s", file, name)
			}
			want = before + begin + table + end + after
		}
		switch {
		case want == string(data):
		case !*update:
			t.Errorf("%s is not current, run go test -update: -want +got:\n%s", file, cmp.Diff(want, string(data)))
		default:
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// toolTables returns the table of tools with all there is to say in one line each, and the one with the least.
func toolTables(t *testing.T) (long, short string) {
	t.Helper()
	s := serve(t, func(o *mcpserver.Options) { o.Config.Targets, o.Local = "local", unreachable() })
	var l, b strings.Builder
	l.WriteString("| tool | arguments | effect | what |\n|---|---|---|---|\n")
	b.WriteString("| tool | what |\n|---|---|\n")
	for _, tool := range tools(t, connect(t, s.Server, nil)) {
		what, _, _ := strings.Cut(tool.Description, ". ")
		fmt.Fprintf(&l, "| `%s` | %s | %s | %s |\n", tool.Name, argumentList(tool), effect(tool.Annotations), what)
		fmt.Fprintf(&b, "| `%s` | %s |\n", tool.Name, regexp.MustCompile(`[:;] | \(`).Split(what, 2)[0])
	}
	return l.String(), b.String()
}

// argumentList lists the arguments, those that can be left out in italics.
func argumentList(tool *mcp.Tool) string {
	in := tool.InputSchema.(map[string]any)
	required, _ := in["required"].([]any)
	var must, may []string
	for name := range in["properties"].(map[string]any) {
		if slices.Contains(required, any(name)) {
			must = append(must, name)
		} else {
			may = append(may, "*"+name+"*")
		}
	}
	slices.Sort(must)
	slices.Sort(may)
	return strings.Join(append(must, may...), ", ")
}

func effect(a *mcp.ToolAnnotations) string {
	switch {
	case a.ReadOnlyHint:
		return "reads"
	case *a.DestructiveHint:
		return "can destroy"
	default:
		return "adds"
	}
}

func settingTable() string {
	var b strings.Builder
	b.WriteString("| key | environment | default | what |\n|---|---|---|---|\n")
	for _, s := range mcpserver.Settings() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Name, s.Env, strings.ReplaceAll(s.Default, "|", "\\|"), s.Doc)
	}
	return b.String()
}

func codeTable() string {
	source, err := os.ReadFile("errors.go")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString("| code | meaning |\n|---|---|\n")
	for _, code := range mcpserver.ErrorCodes() {
		m := regexp.MustCompile(`ErrorCode = "` + string(code) + `" +// (.*)`).FindSubmatch(source)
		if m == nil {
			fmt.Fprintf(&b, "| %s | ? |\n", code)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |\n", code, m[1])
	}
	return b.String()
}
