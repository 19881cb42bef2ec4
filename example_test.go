package repo_test

import (
	"go/ast"
	"go/doc"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestEveryPublicTypeHasAnExample wants, for each exported type of the public packages, an Example with output whose name begins with the type's
// or which shows it under another's.
func TestEveryPublicTypeHasAnExample(t *testing.T) {
	all := sources(t)
	for _, pkg := range []string{"smol", "smol/local", "smol/cloud", "smol/smoltest"} {
		shown := examples(t, all, pkg)
		if len(shown) == 0 {
			t.Errorf("package %s has no example", pkg)
		}
		for _, s := range all {
			if s.pkg != pkg || s.test {
				continue
			}
			for _, d := range s.file.Decls {
				gen, ok := d.(*ast.GenDecl)
				if !ok || gen.Tok != token.TYPE {
					continue
				}
				for _, spec := range gen.Specs {
					name := spec.(*ast.TypeSpec).Name
					if name.IsExported() && !slices.ContainsFunc(shown, func(e string) bool { return e == name.Name || strings.HasPrefix(e, name.Name+"_") }) {
						t.Errorf("%s: %s has no Example", s.at(name), name.Name)
					}
				}
			}
		}
	}
}

// examples lists the names that the examples of pkg show, without their "Example", and wants an output in each.
func examples(t *testing.T, all []*source, pkg string) []string {
	t.Helper()
	var out []string
	for _, s := range all {
		if s.pkg != pkg || !s.test {
			continue
		}
		for _, e := range doc.Examples(s.file) {
			out = append(out, e.Name)
			if e.Output == "" && !e.EmptyOutput {
				t.Errorf("%s: Example%s has no output to compare with", s.path, e.Name)
			}
		}
	}
	return out
}
