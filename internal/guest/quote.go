package guest

import "strings"

// quote returns s as one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// unquote reads the word that [quote] wrote off the front of s.
func unquote(s string) (word, rest string, ok bool) {
	var b strings.Builder
	for {
		if !strings.HasPrefix(s, "'") {
			return "", "", false
		}
		text, after, found := strings.Cut(s[1:], "'")
		if !found {
			return "", "", false
		}
		b.WriteString(text)
		after, more := strings.CutPrefix(after, `\'`)
		if !more {
			return b.String(), after, true
		}
		b.WriteByte('\'')
		s = after
	}
}
