//go:build !windows

package private

import "os"

// rename replaces the file at path, whoever has it open.
func rename(from, path string) error { return os.Rename(from, path) }
