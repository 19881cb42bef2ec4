//go:build linux

package sandbox_test

func bootAndWait(args []string) error           { return nil }
func bootUnderMaskedProc(args []string) error   { return nil }
func bootWithoutNamespaces(args []string) error { return nil }
func bootNested(args []string) error            { return nil }
