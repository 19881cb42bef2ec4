// Package envname knows which names a variable of the environment may have: those that every service and every shell takes.
package envname

import (
	"errors"
	"fmt"
)

// Max is the most bytes of a name.
const Max = 256

// Check returns nil if name can be used, and else an error that tells what it is: "an empty name", for instance.
func Check(name string) error {
	switch {
	case name == "":
		return errors.New("an empty name")
	case len(name) > Max:
		return fmt.Errorf("a name of %d bytes; at most %d are allowed", len(name), Max)
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if digit := '0' <= c && c <= '9'; !letter && (!digit || i == 0) {
			return fmt.Errorf("the name %.80q; allowed are letters, digits and '_', not starting with a digit", name)
		}
	}
	return nil
}
