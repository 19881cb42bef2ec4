package sse

import (
	"strings"
	"unicode/utf8"
)

// decode is the standard's "UTF-8 decode": each maximal part of a sequence that is cut short becomes one U+FFFD, where the
// conversions of the language make one of every byte.
func decode(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = badPrefix(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// badPrefix returns how many bytes at the start of b, which do not form a character, are replaced together: the longest part
// that could have been continued to one.
func badPrefix(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c >= 0xe0 && c <= 0xef:
		more = 2
		if c == 0xe0 {
			low = 0xa0 // shorter forms exist
		}
		if c == 0xed {
			high = 0x9f // surrogates
		}
	case c >= 0xf0 && c <= 0xf4:
		more = 3
		if c == 0xf0 {
			low = 0x90
		}
		if c == 0xf4 {
			high = 0x8f // beyond U+10FFFF
		}
	}
	n := 1
	for ; n <= more && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}
