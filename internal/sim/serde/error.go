// Package serde decodes JSON bodies and query strings into Go structs with the strictness, and the error texts, of the decoder that the
// services are built on. Their clients meet those texts, and a position in them, whenever a request is wrong, so the stand-ins give
// the same ones. encoding/json is of no use here: it folds the case of names, lets a name occur twice and takes null for anything.
//
// A struct says what is accepted by its fields and their tags:
//
//	Name  string    `serde:"name"`           // must be there, not null
//	CPUs  *uint8    `serde:"cpus"`           // may be absent or null
//	Ports []port    `serde:"ports,default"`  // may be absent, not null
//	_     struct{}  `serde:",deny"`          // other names are an error
//
// A type that may have several shapes implements [Untagged]. Kinds other than bool, string, the unsigned integers, slices, structs and maps
// with string keys are not supported; neither is an array in the place of a struct, which the original takes as its fields in their order.
package serde

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Error is what is wrong with a body or a query string.
type Error struct {
	// Syntax: it is not JSON. Otherwise it is JSON of the wrong shape.
	Syntax bool
	// Path leads to the value, such as env[0].name; it is empty at the root.
	Path string
	// Detail is the decoder's text.
	Detail string
	// Line counts from 1, Column is the number of bytes of it that were read. Both are 0 for a query string.
	Line, Column int
}

// Error returns "path: detail at line L column C", without what there is none of.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Detail)
	if e.Line > 0 {
		fmt.Fprintf(&b, " at line %d column %d", e.Line, e.Column)
	}
	return b.String()
}

// The texts of syntax errors.
const (
	eofList      = "EOF while parsing a list"
	eofObject    = "EOF while parsing an object"
	eofString    = "EOF while parsing a string"
	eofValue     = "EOF while parsing a value"
	wantColon    = "expected `:`"
	wantListEnd  = "expected `,` or `]`"
	wantMapEnd   = "expected `,` or `}`"
	wantIdent    = "expected ident"
	wantValue    = "expected value"
	badEscape    = "invalid escape"
	badNumber    = "invalid number"
	outOfRange   = "number out of range"
	badCodePoint = "invalid unicode code point"
	badControl   = `control character (\u0000-\u001F) found while parsing a string`
	keyNotString = "key must be a string"
	loneHex      = "lone leading surrogate in hex escape"
	hexCut       = "unexpected end of hex escape"
	trailComma   = "trailing comma"
	trailing     = "trailing characters"
	tooDeep      = "recursion limit exceeded"
)

// Quote returns s as the services print a string for debugging.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case 0:
			b.WriteString(`\0`)
		default:
			if unicode.IsPrint(r) {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\u{%x}`, r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// oneOf returns the texts "`a`", "`a` or `b`" and "one of `a`, `b`, `c`".
func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "there are no fields"
	case 1:
		return "expected `" + names[0] + "`"
	case 2:
		return "expected `" + names[0] + "` or `" + names[1] + "`"
	}
	return "expected one of `" + strings.Join(names, "`, `") + "`"
}

// float returns f as the shortest decimal that always shows that it is not an integer.
func float(f float64) string {
	digits := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(digits, "e")
	n, _ := strconv.Atoi(exp)
	if n < -5 || n > 15 {
		return mantissa + "e" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
