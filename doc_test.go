package repo_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestOnePackageComment wants one package comment a package, in one file.
func TestOnePackageComment(t *testing.T) {
	count := map[string]int{}
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		count[s.pkg] += 0
		if s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			count[s.pkg]++
		}
	}
	for pkg, n := range count {
		if n != 1 {
			t.Errorf("package %s has %d package comments, not 1", pkg, n)
		}
	}
}

// TestExportedNamesAreDocumented wants a comment that says something for every exported name of shipped, hand-written code.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					checkDoc(t, s, d, d.Name.Name, d.Doc, signature(d))
				}
			case *ast.GenDecl:
				checkGenDecl(t, s, d)
			}
		}
	}
}

// exportedReceiver reports whether fn is a function, or a method that godoc shows. Methods that only satisfy a well-known
// interface of the standard library say nothing new.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	typ := fn.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func checkGenDecl(t *testing.T, s *source, d *ast.GenDecl) {
	t.Helper()
	for i, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			checkDoc(t, s, spec, spec.Name.Name, doc, "")
			if spec.Doc == nil {
				spec.Doc = d.Doc
			}
			checkMembers(t, s, spec)
		case *ast.ValueSpec:
			doc := firstDoc(spec.Doc, spec.Comment)
			if doc == nil && (d.Tok == token.CONST || d.Tok == token.VAR) {
				// A comment covers the names that follow it without a blank line, or the whole group.
				doc = coveringDoc(s, d, i)
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					checkDoc(t, s, name, name.Name, doc, "")
				}
			}
		}
	}
}

// coveringDoc returns the comment of the nearest earlier spec on adjoining lines, or that of the group.
func coveringDoc(s *source, d *ast.GenDecl, i int) *ast.CommentGroup {
	line := func(p token.Pos) int { return s.fset.Position(p).Line }
	for ; i > 0; i-- {
		prev := d.Specs[i-1].(*ast.ValueSpec)
		if line(d.Specs[i].Pos())-line(prev.End()) > 1 {
			break
		}
		if doc := firstDoc(prev.Doc, prev.Comment); doc != nil {
			return doc
		}
	}
	return d.Doc
}

func firstDoc(groups ...*ast.CommentGroup) *ast.CommentGroup {
	for _, g := range groups {
		if g != nil {
			return g
		}
	}
	return nil
}

// checkMembers wants the exported fields of an exported struct, and the methods of an exported interface, documented. A comment
// covers the fields that follow it on adjoining lines. In internal packages the comment of the type is enough: its
// reader has the code open.
func checkMembers(t *testing.T, s *source, spec *ast.TypeSpec) {
	t.Helper()
	if under(s.pkg, "internal") {
		return
	}
	var fields *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return
	}
	var doc *ast.CommentGroup
	last := 0
	for _, f := range fields.List {
		start := s.fset.Position(f.Pos()).Line
		if own := firstDoc(f.Doc, f.Comment); own != nil {
			doc = own
		} else if start-last > 1 {
			doc = nil
		}
		last = s.fset.Position(f.End()).Line
		for _, name := range f.Names {
			if name.IsExported() {
				if doc != nil || !mentions(spec, name.Name) {
					checkDoc(t, s, name, spec.Name.Name+"."+name.Name, doc, "")
				}
			}
		}
	}
}

// mentions reports whether the comment of the type itself speaks of the field.
func mentions(spec *ast.TypeSpec, field string) bool {
	return spec.Doc != nil && slices.Contains(word.FindAllString(spec.Doc.Text(), -1), field)
}

var word = regexp.MustCompile(`[A-Za-z0-9]+`)

// filler are words that say nothing by themselves.
var filler = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`a an the is are be it its this that of for to in on with and or returns return gets get sets
		set creates create new makes make type struct function method holds hold represents represent given value values s`) {
		filler[w] = true
	}
}

// checkDoc wants a comment with words that stand neither in the name nor in the signature, and are no filler.
func checkDoc(t *testing.T, s *source, n ast.Node, name string, doc *ast.CommentGroup, signature string) {
	t.Helper()
	if doc == nil || strings.TrimSpace(doc.Text()) == "" {
		t.Errorf("%s: %s has no comment", s.at(n), name)
		return
	}
	known := map[string]bool{}
	for _, w := range word.FindAllString(name+" "+signature, -1) {
		for _, part := range camel(w) {
			known[stem(part)] = true
		}
	}
	said := 0
	for _, w := range word.FindAllString(doc.Text(), -1) {
		w = strings.ToLower(w)
		if !filler[w] && !known[stem(w)] && !known[stem(strings.ToLower(strings.ReplaceAll(w, "_", "")))] {
			said++
		}
	}
	least := 2
	if _, ok := n.(*ast.Ident); ok || signature != "" {
		least = 1 // a field, a constant or a method stands beside what explains it
	}
	if said < least {
		t.Errorf("%s: the comment of %s only repeats its name and signature: %q", s.at(n), name, strings.TrimSpace(doc.Text()))
	}
}

// signature lists the words of fn's parameters and results.
func signature(fn *ast.FuncDecl) string {
	var b strings.Builder
	if fn.Recv != nil {
		ast.Inspect(fn.Recv, func(n ast.Node) bool { return addIdent(&b, n) })
	}
	ast.Inspect(fn.Type, func(n ast.Node) bool { return addIdent(&b, n) })
	return b.String()
}

func addIdent(b *strings.Builder, n ast.Node) bool {
	if id, ok := n.(*ast.Ident); ok {
		b.WriteString(id.Name + " ")
	}
	return true
}

// stem takes off the endings that only inflect.
func stem(w string) string {
	w = strings.ToLower(w)
	for _, end := range []string{"ies", "es", "s", "ed", "ing"} {
		if len(w) > len(end)+2 && strings.HasSuffix(w, end) {
			return strings.TrimSuffix(w, end)
		}
	}
	return w
}

// camel splits a Go name into its words, and keeps the whole.
func camel(name string) []string {
	out := []string{name}
	start := 0
	for i, r := range name {
		if i > start && unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1])) {
			out = append(out, name[start:i])
			start = i
		}
	}
	return append(out, name[start:])
}

// TestExportedAPIOfSmol wants no type of a dependency or of an internal package in the exported API of package smol.
func TestExportedAPIOfSmol(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg != "smol" || s.test {
			continue
		}
		foreign := map[string]string{}
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if strings.Contains(strings.Split(path, "/")[0], ".") {
				name := path[strings.LastIndex(path, "/")+1:]
				if spec.Name != nil {
					name = spec.Name.Name
				}
				foreign[name] = path
			}
		}
		mention := func(where string, n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && foreign[x.Name] != "" {
						t.Errorf("%s: %s shows %s.%s of %s", s.at(n), where, x.Name, sel.Sel.Name, foreign[x.Name])
					}
				}
				return true
			})
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					mention(d.Name.Name, d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
						mentionExported(ts, mention)
					}
					if vs, ok := spec.(*ast.ValueSpec); ok && vs.Names[0].IsExported() && vs.Type != nil {
						mention(vs.Names[0].Name, vs.Type)
					}
				}
			}
		}
	}
}

// mentionExported calls mention with the parts of ts that godoc shows.
func mentionExported(ts *ast.TypeSpec, mention func(string, ast.Node)) {
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		mention(ts.Name.Name, ts.Type)
		return
	}
	for _, f := range st.Fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				mention(ts.Name.Name+"."+name.Name, f.Type)
			}
		}
		if len(f.Names) == 0 {
			mention(ts.Name.Name, f.Type)
		}
	}
}
