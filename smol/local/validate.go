package local

import (
	"regexp"

	"github.com/smol-machines/smol-go/internal/rest"
)

const maxName = 128

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$`)

// unsupported says that this fleet does not have what field asks for, and what there is instead.
func unsupported(field, what, hint string) error { return rest.Unsupported("local", field, what, hint) }

// checkName holds the service's rule for names, which also makes them safe in a path.
func checkName(field, name string) error {
	switch {
	case name == "":
		return rest.Invalid(field, "is empty")
	case len(name) > maxName:
		return rest.Invalid(field, "has %d bytes; at most %d are allowed", len(name), maxName)
	case !namePattern.MatchString(name):
		return rest.Invalid(field, "%q is none: allowed are letters, digits, '_' and single '-', starting with a letter or digit, not ending in '-'", name)
	}
	return nil
}
