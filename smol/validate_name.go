package smol

import "strings"

// maxName is the most bytes a machine's name may have.
const maxName = 128

// validateName checks a machine's name by the rules of both fleets.
func validateName(field, name string) error {
	switch {
	case name == "":
		return invalidf(field, "is empty")
	case len(name) > maxName:
		return invalidf(field, "has %d bytes; at most %d are allowed", len(name), maxName)
	case !isAlnum(name[0]):
		return invalidf(field, "%q must start with a letter or digit", name)
	case strings.HasSuffix(name, "-"), strings.Contains(name, "--"):
		return invalidf(field, "%q must not end in '-' or contain \"--\"", name)
	}
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '_' && c != '-' {
			return invalidf(field, "%q may have only ASCII letters, digits, '_' and '-'", name)
		}
	}
	return nil
}

// validateRef checks what may be a name or an id. Ids are the fleet's own, so it asks only for what keeps a reference one segment of a
// path.
func validateRef(ref string) error {
	const field = "machine reference"
	switch {
	case ref == "":
		return invalidf(field, "is empty; it is a name or an id")
	case len(ref) > maxName:
		return invalidf(field, "has %d bytes; at most %d are allowed", len(ref), maxName)
	case !isAlnum(ref[0]):
		return invalidf(field, "%q must start with a letter or digit", ref)
	}
	for i := range len(ref) {
		if c := ref[i]; !isAlnum(c) && !strings.ContainsRune("._-", rune(c)) {
			return invalidf(field, "%q may have only ASCII letters, digits, '_', '-' and '.'", ref)
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
