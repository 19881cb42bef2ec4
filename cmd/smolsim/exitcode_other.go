//go:build !unix

package main

import "os"

// exitCode is the code of a command that ended.
func exitCode(s *os.ProcessState) int { return s.ExitCode() }
