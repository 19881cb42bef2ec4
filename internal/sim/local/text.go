package local

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"unicode/utf8"
)

// errnos are errors of the guest's system, a Linux whatever this one is, with their numbers there.
var errnos = []struct {
	err    error
	text   string
	number int
}{
	{fs.ErrNotExist, "No such file or directory", 2},
	{syscall.E2BIG, "Argument list too long", 7},
	{syscall.ENOEXEC, "Exec format error", 8},
	{fs.ErrPermission, "Permission denied", 13},
	{syscall.ENOTDIR, "Not a directory", 20},
	{syscall.EISDIR, "Is a directory", 21},
	{syscall.EINVAL, "Invalid argument", 22},
	{syscall.ENOSPC, "No space left on device", 28},
	{syscall.EROFS, "Read-only file system", 30},
	{syscall.ENAMETOOLONG, "File name too long", 36},
	{syscall.ELOOP, "Too many levels of symbolic links", 40},
}

// errnoText is an error of the guest's system in its words, or "".
func errnoText(err error) string {
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return fmt.Sprintf("%s (os error %d)", e.text, e.number)
		}
	}
	return ""
}

// lossy returns b as text, with one U+FFFD for each longest run of bytes that begins a character and does not end it.
func lossy(b []byte) string {
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
