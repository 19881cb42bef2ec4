//go:build !windows

package script

// hostPath is the path on the host of what a machine calls rel, which is the same.
func hostPath(rel string) string { return rel }
