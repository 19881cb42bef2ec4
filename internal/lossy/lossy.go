// Package lossy makes text of bytes as the services do, and whoever reads an event stream: what the standards call a "UTF-8 decode".
package lossy

import (
	"strings"
	"unicode/utf8"
)

// String returns b as text, with one U+FFFD for each longest run of bytes that begins a character and does not end it.
func String(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = torn(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// torn returns how many of the first bytes of b, which are not a whole character, could begin one; at least 1.
func torn(b []byte) int {
	low, high, need := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		if c == 0xE0 {
			low = 0xA0
		}
		if c == 0xED {
			high = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		if c == 0xF0 {
			low = 0x90
		}
		if c == 0xF4 {
			high = 0x8F
		}
	}
	n := 1
	for ; n <= need && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xBF
	}
	return n
}
