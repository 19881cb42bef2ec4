//go:build !linux

package host

// alive reports nothing where machines have no processes.
func alive(int) bool { return false }
