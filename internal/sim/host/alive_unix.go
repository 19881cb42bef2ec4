//go:build unix

package host

import "syscall"

// alive reports whether there is a process pid, be it a zombie.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
