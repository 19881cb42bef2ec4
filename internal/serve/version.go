package serve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/smol"
)

// Version is a release: major, minor, patch.
type Version [3]int

// ParseVersion reads "1.14.5"; what follows a '-' or a '+' is dropped, and missing numbers are zero.
func ParseVersion(s string) (Version, bool) {
	var v Version
	s, _, _ = strings.Cut(strings.TrimSpace(s), "+")
	s, _, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	if len(parts) > len(v) {
		return Version{}, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return Version{}, false
		}
		v[i] = int(n)
	}
	return v, true
}

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

// gate refuses a release that is older than Config.MinVersion, or does not tell how old it is.
func (s *Supervisor) gate(version, what string) error {
	if s.c.MinVersion == "" {
		return nil
	}
	least, _ := ParseVersion(s.c.MinVersion) // New's caller has checked it
	if v, ok := ParseVersion(version); ok && !v.Before(least) {
		return nil
	}
	return failure(smol.CodeUnsupported, ErrTooOld, nil, fmt.Sprintf("%s is smolvm %.40q, and %s is the oldest that is used", what, version, s.c.MinVersion),
		"install smolvm "+s.c.MinVersion+" or later; or lower the least release, at your own risk")
}

// parseBinaryVersion reads what `smolvm --version` prints.
func parseBinaryVersion(out string) (version string, noHypervisor bool) {
	first, rest, _ := strings.Cut(out, "\n")
	if name, v, ok := strings.Cut(strings.TrimSpace(first), " "); ok && name == "smolvm" {
		version = strings.TrimSpace(v)
	}
	second, _, _ := strings.Cut(rest, "\n")
	return version, strings.TrimSpace(second) == "hypervisor: none"
}
