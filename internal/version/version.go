// Package version tells which build of the module this is.
package version

import "runtime/debug"

// String returns the version of the main module: v1.2.3 for a release, a pseudo-version or the revision for what was built from a
// checkout, "devel" if the build does not say.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
