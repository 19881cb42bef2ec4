//go:build unix

package main

import (
	"os"
	"syscall"
)

// exitCode is the code of a command that ended, 128+n after signal n, as shells have it.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitSignal + int(w.Signal())
	}
	return s.ExitCode()
}
