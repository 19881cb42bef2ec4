package smol

import (
	"path"
	"slices"
	"strings"
)

// cleanPath checks the path of a file in a machine and returns it in its shortest form. An element ".." is refused: what it means depends
// on symbolic links that only the machine knows.
func cleanPath(field, p string) (string, error) {
	if p == "" {
		return "", invalidf(field, "is empty; it is an absolute path in the machine")
	}
	if err := validateGuestPath(field, p); err != nil {
		return "", err
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return "", invalidf(field, "%q has an element \"..\"; write the path without it", p)
	}
	return path.Clean(p), nil
}
