//go:build !windows

package script

// inWords says err as a machine does, which here is what the host says.
func inWords(err error) error { return err }
