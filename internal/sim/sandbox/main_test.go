//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperEnv makes this test binary something else: a process that a test needs beside itself.
const helperEnv = "SANDBOX_TEST_HELPER"

var helpers = map[string]func(args []string) error{
	"boot and wait":  bootAndWait,
	"masked proc":    bootUnderMaskedProc,
	"no namespaces":  bootWithoutNamespaces,
	"nested machine": bootNested,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		os.Unsetenv(helperEnv)
		if err := helpers[name](os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
