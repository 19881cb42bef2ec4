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

// docsFile has the tables that are generated, each between two comments.
const docsFile = "../docs/smol-mcp.md"

// TestDocsAreCurrent holds the tables of the documentation against the program.
func TestDocsAreCurrent(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for name, table := range map[string]string{"tools": toolTable(t), "settings": settingTable(), "codes": codeTable()} {
		begin, end := "<!-- "+name+": generated -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s lacks the comments around %s", docsFile, name)
		}
		want = before + begin + table + end + after
	}
	if want == string(data) {
		return
	}
	if !*update {
		t.Errorf("%s is not current, run go test -update: -want +got:\n%s", docsFile, cmp.Diff(want, string(data)))
		return
	}
	if err := os.WriteFile(docsFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func toolTable(t *testing.T) string {
	t.Helper()
	s := serve(t, func(o *mcpserver.Options) { o.Config.Targets, o.Local = "local", unreachable() })
	var b strings.Builder
	b.WriteString("| tool | arguments | effect | what |\n|---|---|---|---|\n")
	for _, tool := range tools(t, connect(t, s.Server, nil)) {
		what, _, _ := strings.Cut(tool.Description, ". ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", tool.Name, argumentList(tool), effect(tool.Annotations), what)
	}
	return b.String()
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
