package local

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// version is a release of the service.
type version [3]int

func parseVersion(s string) (version, error) {
	var v version
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, fmt.Errorf("local: Options.Version %q is not of the form X.Y.Z", s)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return v, fmt.Errorf("local: Options.Version %q is not of the form X.Y.Z", s)
		}
		v[i] = int(n)
	}
	return v, nil
}

// since reports whether v is at least the release x.y.z.
func (v version) since(x, y, z int) bool { return slices.Compare(v[:], []int{x, y, z}) >= 0 }

func (v version) deniesUnknown() bool    { return v.since(1, 22, 2) }
func (v version) pullsOffline() bool     { return v.since(1, 23, 0) }
func (v version) branches() bool         { return v.since(1, 14, 0) }
func (v version) checkpoints() bool      { return v.since(1, 14, 0) }
func (v version) syncs() bool            { return v.since(1, 14, 2) }
func (v version) staleLock() bool        { return !v.since(1, 14, 6) }
func (v version) tellsImage() bool       { return v.since(1, 14, 6) }
func (v version) pauses() bool           { return v.since(1, 18, 0) }
func (v version) branchFreezes() bool    { return !v.since(1, 18, 2) }
func (v version) startTakesNoBody() bool { return v.since(1, 21, 0) }
