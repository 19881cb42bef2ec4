package script

import "strings"

// unused is where Unicode has characters of no meaning. Those that Windows allows in no name are kept there, as Cygwin and the Linux of
// Windows do.
const unused = 0xf000

// forbidden tells whether a character of a name is impossible on Windows. NUL is so everywhere.
func forbidden(c rune) bool { return c > 0 && c < ' ' || strings.ContainsRune(`<>:"|?*\`, c) }

// hostPath is the path on the host of what a machine calls rel.
func hostPath(rel string) string {
	elems := strings.Split(rel, "/")
	for n, elem := range elems {
		elem = strings.Map(func(c rune) rune {
			if forbidden(c) {
				c += unused
			}
			return c
		}, elem)
		if last := len(elem) - 1; last >= 0 && strings.ContainsAny(elem[last:], ". ") { // which Windows drops
			elem = elem[:last] + string(unused+rune(elem[last]))
		}
		elems[n] = elem
	}
	return strings.Join(elems, "/")
}

// guestName is what a machine calls a file of the host.
func guestName(name string) string {
	return strings.Map(func(c rune) rune {
		if plain := c - unused; forbidden(plain) || plain == '.' || plain == ' ' {
			c = plain
		}
		return c
	}, name)
}
