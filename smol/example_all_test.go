package smol_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestEveryTypeHasAnExample: the fastest way to learn a type is to see it used, and an example with an output is a test of that.
func TestEveryTypeHasAnExample(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	types, examples := map[string]string{}, map[string]bool{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if name, ok := strings.CutPrefix(d.Name.Name, "Example"); ok && d.Recv == nil && hasOutput(f, d) {
					name, _, _ = strings.Cut(name, "_")
					examples[name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() && !strings.HasSuffix(e.Name(), "_test.go") {
						types[spec.Name.Name] = fset.Position(spec.Pos()).String()
					}
				}
			}
		}
	}
	if len(types) < 30 {
		t.Fatalf("only %d types found: the search is broken", len(types))
	}
	for name, at := range types {
		if !examples[name] {
			t.Errorf("%s: %s has no example with an output", at, name)
		}
	}
}

// hasOutput reports whether there is an output comment in the function, without which an example is not run.
func hasOutput(f *ast.File, d *ast.FuncDecl) bool {
	for _, c := range f.Comments {
		if d.Body.Pos() < c.Pos() && c.End() < d.Body.End() && strings.HasPrefix(c.Text(), "Output:") {
			return true
		}
	}
	return false
}
