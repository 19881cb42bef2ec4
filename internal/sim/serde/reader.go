package serde

import (
	"bytes"
	"unicode/utf8"
)

// maxDepth is how deep values may nest.
const maxDepth = 128

// reader goes through a body. i is the number of bytes read, by which positions are told.
type reader struct {
	b     []byte
	i     int
	depth int
}

func (r *reader) at(i int, syntax bool, detail string) *Error {
	start := bytes.LastIndexByte(r.b[:i], '\n') + 1
	return &Error{Syntax: syntax, Detail: detail, Line: 1 + bytes.Count(r.b[:start], []byte{'\n'}), Column: i - start}
}

// fail is a syntax error after what was read, failNext one at the byte that comes.
func (r *reader) fail(detail string) *Error     { return r.at(r.i, true, detail) }
func (r *reader) failNext(detail string) *Error { return r.at(min(len(r.b), r.i+1), true, detail) }

// wrong is an error of shape after what was read.
func (r *reader) wrong(detail string) *Error { return r.at(r.i, false, detail) }

// peek returns the next byte, 0 at the end: no JSON begins with one.
func (r *reader) peek() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

// next skips white space and returns the byte after it, unread; false at the end.
func (r *reader) next() (byte, bool) {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\n', '\t', '\r':
			r.i++
		default:
			return r.b[r.i], true
		}
	}
	return 0, false
}

// value is next where a value must come.
func (r *reader) value() (byte, *Error) {
	c, ok := r.next()
	if !ok {
		return 0, r.failNext(eofValue)
	}
	return c, nil
}

func (r *reader) ident(rest string) *Error {
	for i := range len(rest) {
		if r.i == len(r.b) {
			return r.fail(eofValue)
		}
		r.i++
		if r.b[r.i-1] != rest[i] {
			return r.fail(wantIdent)
		}
	}
	return nil
}

// str reads a string whose opening quote was read.
func (r *reader) str() (string, *Error) {
	var out []byte
	for {
		if r.i == len(r.b) {
			return "", r.fail(eofString)
		}
		c := r.b[r.i]
		r.i++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", r.fail(badCodePoint)
			}
			return string(out), nil
		case c == '\\':
			var err *Error
			if out, err = r.escape(out); err != nil {
				return "", err
			}
		case c < 0x20:
			return "", r.fail(badControl)
		default:
			out = append(out, c)
		}
	}
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (r *reader) escape(out []byte) ([]byte, *Error) {
	if r.i == len(r.b) {
		return nil, r.fail(eofString)
	}
	c := r.b[r.i]
	r.i++
	if c == 'u' {
		u, err := r.unicode()
		return utf8.AppendRune(out, u), err
	}
	e, ok := escapes[c]
	if !ok {
		return nil, r.fail(badEscape)
	}
	return append(out, e), nil
}

// unicode reads what follows \u, with the second half of a pair.
func (r *reader) unicode() (rune, *Error) {
	u, err := r.hex()
	switch {
	case err != nil:
		return 0, err
	case u >= 0xDC00 && u <= 0xDFFF:
		return 0, r.fail(loneHex)
	case u < 0xD800 || u > 0xDFFF:
		return u, nil
	}
	for _, want := range []byte(`\u`) {
		if r.i == len(r.b) {
			return 0, r.fail(eofString)
		}
		r.i++
		if r.b[r.i-1] != want {
			return 0, r.fail(hexCut)
		}
	}
	low, err := r.hex()
	if err != nil {
		return 0, err
	}
	if low < 0xDC00 || low > 0xDFFF {
		return 0, r.fail(loneHex)
	}
	return 0x10000 + (u-0xD800)<<10 + (low - 0xDC00), nil
}

func (r *reader) hex() (rune, *Error) {
	if len(r.b)-r.i < 4 {
		r.i = len(r.b)
		return 0, r.fail(eofString)
	}
	var u rune
	digits := r.b[r.i : r.i+4]
	r.i += 4
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			u = u<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, r.fail(badEscape)
		}
	}
	return u, nil
}
