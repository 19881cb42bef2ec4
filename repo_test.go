// Package repo_test holds the rules of this repository that a machine can check.
package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

const module = "github.com/smol-machines/smol-go"

// source is one Go file of the repository.
type source struct {
	path      string // slash-separated, from the root
	pkg       string // directory, "." for the root
	test      bool
	generated bool
	lines     int
	file      *ast.File
	fset      *token.FileSet
}

// imports returns the import paths of s.
func (s *source) imports() []string {
	var out []string
	for _, spec := range s.file.Imports {
		out = append(out, strings.Trim(spec.Path.Value, `"`))
	}
	return out
}

// at says where in the repository n stands.
func (s *source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(p.Line)
}

// sources returns every Go file of the repository, parsed.
func sources(t *testing.T) []*source {
	t.Helper()
	out, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("only %d Go files found: the walk is broken", len(out))
	}
	return out
}

// parsed reads them once for all tests.
var parsed = sync.OnceValues(func() ([]*source, error) {
	var out []*source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, &source{
			path: path, pkg: filepath.ToSlash(filepath.Dir(path)), test: strings.HasSuffix(path, "_test.go"),
			generated: ast.IsGenerated(f), lines: strings.Count(string(data), "\n"), file: f, fset: fset,
		})
		return nil
	})
	return out, err
})

// under reports whether pkg is dir or lies below it.
func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

// TestDependencyDirection holds the arrows of docs/design.md: smol knows only the standard library and internal packages,
// the fleets do not know each other, and nothing imports a command or an example.
func TestDependencyDirection(t *testing.T) {
	rules := []struct {
		from      string
		forbidden []string
		reason    string
	}{
		{"smol/local", []string{"smol/cloud", "mcpserver", "cmd"}, "the fleets do not know each other"},
		{"smol/cloud", []string{"smol/local", "mcpserver", "cmd"}, "the fleets do not know each other"},
		{"internal/sim", []string{"smol"}, "the stand-ins speak the wire, not the library"},
		{"internal/guest", []string{"smol", "internal/sim"}, "the runner is below the library"},
		{"internal/limit", []string{"smol"}, "the limiter is below the library"},
		{"internal/sse", []string{"smol"}, "the event-stream reader is below the library"},
		{"internal/wire", []string{"smol", "internal/sim"}, "wire types know nobody"},
		{"mcpserver", []string{"cmd", "smol/smoltest", "internal/sim"}, "the server is thin over the library"},
	}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imp := range s.imports() {
			rel, ours := strings.CutPrefix(imp, module+"/")
			if s.pkg == "smol" {
				std := !strings.Contains(strings.Split(imp, "/")[0], ".")
				if !std && !(ours && under(rel, "internal") && !under(rel, "internal/sim")) {
					t.Errorf("%s imports %s: smol imports the standard library and our internal packages only", s.path, imp)
				}
			}
			if ours && (under(rel, "cmd") || under(rel, "examples") && !(under(s.pkg, "examples") && rel == "examples/internal/fleet")) {
				t.Errorf("%s imports the command or example %s", s.path, imp)
			}
			for _, r := range rules {
				for _, f := range r.forbidden {
					if ours && under(s.pkg, r.from) && (rel == f || f != "smol" && under(rel, f)) {
						t.Errorf("%s imports %s: %s", s.path, imp, r.reason)
					}
				}
			}
		}
	}
}

// TestImportsHaveTheirPlace keeps each dependency, and each risky standard package, where it belongs.
func TestImportsHaveTheirPlace(t *testing.T) {
	places := []struct {
		imp     string
		allowed []string // directories whose shipped code may import it
		inTests bool
		instead string
	}{
		{"testing", []string{"smol/smoltest", "internal/simtest", "internal/wiretest"}, true, "shipped code does not import testing"},
		{"log", nil, false, "log/slog, handed in by the caller"},
		{"github.com/google/go-cmp/cmp", nil, true, "go-cmp is for tests"},
		{"go.uber.org/goleak", nil, true, "goleak is for tests"},
		{"github.com/hashicorp/go-retryablehttp", []string{"internal/retry"}, false, "internal/retry"},
		{"github.com/modelcontextprotocol/go-sdk/mcp", []string{"mcpserver", "cmd/smol-mcp"}, true, "mcpserver"},
		{"github.com/modelcontextprotocol/go-sdk/jsonrpc", []string{"mcpserver", "cmd/smol-mcp"}, true, "mcpserver"},
		{"github.com/google/jsonschema-go/jsonschema", []string{"mcpserver"}, true, "mcpserver"},
		{"github.com/coder/websocket", []string{"internal/sim", "smol/local", "smol/cloud"}, true, "where a WebSocket is needed"},
	}
	for _, s := range sources(t) {
		for _, imp := range s.imports() {
			for _, p := range places {
				if imp != p.imp || s.test && p.inTests {
					continue
				}
				if !slices.ContainsFunc(p.allowed, func(dir string) bool { return under(s.pkg, dir) }) {
					t.Errorf("%s imports %s; instead: %s", s.path, imp, p.instead)
				}
			}
		}
	}
}

// TestDirectDependencies compares go.mod with the list that was agreed on; a new one needs its reason in the commit and a
// line here.
func TestDirectDependencies(t *testing.T) {
	allowed := map[string]bool{
		"github.com/coder/websocket":             true, // interactive terminals
		"github.com/google/go-cmp":               true, // tests
		"github.com/google/jsonschema-go":        true, // mcpserver: the schemas that the MCP SDK takes
		"github.com/hashicorp/go-retryablehttp":  true, // cloud only
		"github.com/modelcontextprotocol/go-sdk": true, // mcpserver
		"github.com/oapi-codegen/runtime":        true, // tagged unions of the cloud API
		"go.uber.org/goleak":                     true, // tests
	}
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if mod.Module.Mod.Path != module {
		t.Errorf("module is %s", mod.Module.Mod.Path)
	}
	for _, r := range mod.Require {
		if !r.Indirect && !allowed[r.Mod.Path] && !strings.HasPrefix(r.Mod.Path, "golang.org/x/") {
			t.Errorf("go.mod requires %s, which is not on the list", r.Mod.Path)
		}
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod has replace directives: they do not hold for users of the module")
	}
}

// TestFilesAreSmall holds the limits on hand-written files and functions.
func TestFilesAreSmall(t *testing.T) {
	for _, s := range sources(t) {
		if s.generated {
			base := filepath.Base(s.path)
			if !strings.HasPrefix(base, "zz_") || !strings.HasSuffix(base, ".gen.go") {
				t.Errorf("%s is generated: its name starts with zz_ and ends in .gen.go", s.path)
			}
			continue
		}
		if s.lines > 500 {
			t.Errorf("%s has %d lines; the limit is 500", s.path, s.lines)
		}
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				if n := s.fset.Position(fn.End()).Line - s.fset.Position(fn.Pos()).Line; n > 60 {
					t.Errorf("%s: %s has %d lines; the limit is 60", s.at(fn), fn.Name.Name, n)
				}
			}
		}
	}
}

// TestCalls refuses calls that do not belong where they stand.
func TestCalls(t *testing.T) {
	forbidden := []struct {
		call    string
		allowed func(s *source) bool
		reason  string
	}{
		{"os.Exit", func(s *source) bool {
			return s.test || s.file.Name.Name == "main" || under(s.pkg, "examples") || under(s.pkg, "internal/sim/sandbox")
		}, "only a program ends the process"},
		{"time.Sleep", func(s *source) bool {
			return !s.test || under(s.pkg, "bench") || slices.Contains(s.imports(), "testing/synctest")
		}, "wait on a condition, or use testing/synctest"},
		{"context.Background", func(s *source) bool {
			return s.test || under(s.pkg, "cmd") || under(s.pkg, "examples") || under(s.pkg, "internal/sim") ||
				under(s.pkg, "smol/smoltest") || under(s.pkg, "bench") || s.path == "smol/machine.go" // Discard is for defer
		}, "the caller's context, or context.WithoutCancel of it"},
		{"context.TODO", func(*source) bool { return false }, "the caller's context"},
		{"os.Getenv", func(s *source) bool {
			return s.test || under(s.pkg, "cmd") || under(s.pkg, "examples") || under(s.pkg, "bench") || s.pkg == "internal/simtest" ||
				s.path == "smol/local/env.go" || s.path == "smol/cloud/env.go"
		}, "only OptionsFromEnv, in env.go, reads the environment"},
		{"http.DefaultClient", func(*source) bool { return false }, "a client of one's own"},
	}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, f := range forbidden {
				if x.Name+"."+sel.Sel.Name == f.call && !f.allowed(s) {
					t.Errorf("%s: %s; %s", s.at(sel), f.call, f.reason)
				}
			}
			return true
		})
	}
}

// TestSkipsAreCounted lists every place where a test may be skipped, with the reason a user would accept.
func TestSkipsAreCounted(t *testing.T) {
	allowed := map[string]string{
		"internal/simtest/simtest.go":              "the kernel forbids namespaces; fails under SMOL_REQUIRE_SANDBOX=1",
		"internal/guest/file_commit_linux_test.go": "only root can give files away or become another user",
		"internal/serve/planted_test.go":           "only root can listen as another user",
		"internal/guest/file_script_linux_test.go": "no shell is installed at all",
		"internal/sim/disks/disks_test.go":         "the system has no Unix sockets",
		"internal/sim/local/http_test.go":          "making links needs a right on Windows",
		"smol/tree_out_test.go":                    "making links needs a right on Windows",
		"bench/mcp_test.go":                        "node is not installed to compare with, or the system does not tell the memory of a process",
	}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "tb" || x.Name == "b" || x.Name == "f") && allowed[s.path] == "" {
				t.Errorf("%s skips a test; say why in this list, or make it run", s.at(call))
			}
			return true
		})
	}
}
