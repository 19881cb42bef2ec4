package rest

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
)

const (
	maxSegment   = 512
	maxGuestPath = 4096
)

// Segment returns value escaped as one segment of a path. Escaping alone would let ".." through, and servers differ in what they
// make of an escaped slash, so a value that is not obviously one segment is refused. field names it in the error.
func Segment(field, value string) (string, error) {
	bad := ""
	switch {
	case value == "":
		bad = "is empty"
	case len(value) > maxSegment:
		bad = "is too long"
	case value == "." || value == "..":
		bad = "is a directory"
	case strings.ContainsAny(value, `/\`):
		bad = "contains a path separator"
	default:
		bad = badText(value)
	}
	if bad != "" {
		return "", &smol.Error{Code: smol.CodeInvalid, Message: fmt.Sprintf("%s %.100q %s", field, value, bad)}
	}
	return url.PathEscape(value), nil
}

// GuestPath returns the absolute path p of a file in a machine as the rest of a URL's path, escaped and without its leading slash.
// Paths that name no file, or that a server could resolve to somewhere else, are refused.
func GuestPath(p string) (string, error) {
	bad := ""
	switch {
	case p == "":
		bad = "is empty"
	case !strings.HasPrefix(p, "/"):
		bad = "is not absolute"
	case len(p) > maxGuestPath:
		bad = "is too long"
	case slices.Contains(strings.Split(p, "/"), ".."):
		bad = `contains ".."`
	case strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/."):
		bad = "names a directory"
	default:
		bad = badText(p)
	}
	if bad != "" {
		return "", &smol.Error{Code: smol.CodeInvalid, Message: fmt.Sprintf("path %.100q %s", p, bad)}
	}
	segments := strings.Split(path.Clean(p)[1:], "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/"), nil
}

// badText says why s cannot be part of a path; "" if it can.
func badText(s string) string {
	if strings.Contains(s, "\x00") {
		return "contains a NUL byte"
	}
	if !utf8.ValidString(s) {
		return "is not UTF-8"
	}
	return ""
}
