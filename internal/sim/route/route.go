// Package route matches paths as the services' own router does: segment by segment, as sent, without cleaning and without redirects.
package route

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Pattern is a path. Segments in braces match anything but nothing; {*x} matches the rest, which is not nothing.
type Pattern []string

// New returns the pattern that s writes.
func New(s string) Pattern { return strings.Split(s, "/") }

// Match returns the parameters in a path as it was sent, escapes and all.
func (p Pattern) Match(path []string) (map[string]string, bool) {
	params := map[string]string{}
	for i, s := range p {
		if rest, ok := strings.CutPrefix(s, "{*"); ok {
			if i >= len(path) {
				return nil, false
			}
			all := strings.Join(path[i:], "/")
			params[strings.TrimSuffix(rest, "}")] = all
			return params, all != ""
		}
		if i >= len(path) {
			return nil, false
		}
		name, ok := strings.CutPrefix(s, "{")
		switch {
		case ok && path[i] == "", !ok && path[i] != s:
			return nil, false
		case ok:
			params[strings.TrimSuffix(name, "}")] = path[i]
		}
	}
	return params, len(path) == len(p)
}

// Unescape decodes the parameters; it names one that is not UTF-8 then.
func Unescape(params map[string]string) (bad string) {
	for name, v := range params {
		plain, err := url.PathUnescape(v)
		if err != nil {
			continue
		}
		if !utf8.ValidString(plain) {
			return name
		}
		params[name] = plain
	}
	return ""
}
