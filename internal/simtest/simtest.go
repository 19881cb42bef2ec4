// Package simtest gives tests the guests of the stand-ins.
package simtest

import (
	"os"
	"sync"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

// Require is the environment variable that turns a skip into a failure when it is 1: where the tests must be able to make
// machines, it is a mistake if they cannot.
const Require = "SMOL_REQUIRE_SANDBOX"

// shared is asked once a process whether it works, and has no state besides.
var shared = sync.OnceValue(func() *sandbox.Guest { return sandbox.New(nil) })

// Sandbox returns a guest whose machines are Linux namespaces. Where the kernel or a container engine does not let them be made,
// it skips the test and says why and what to do about it; if [Require] is 1 in the environment, the test fails instead.
func Sandbox(tb testing.TB) sim.Guest {
	tb.Helper()
	g := shared()
	if err := g.Supported(); err != nil {
		refuse(tb, os.Getenv(Require) == "1", err)
	}
	return g
}

// Unable skips a test that needs of a machine what this kernel does not let it do, and fails it instead if [Require] is 1.
func Unable(tb testing.TB, why string) {
	tb.Helper()
	if os.Getenv(Require) == "1" {
		tb.Fatalf("%s=1, but %s", Require, why)
	}
	tb.Skip(why)
}

func refuse(tb testing.TB, required bool, err error) {
	tb.Helper()
	if required {
		tb.Fatalf("%s=1, but no machine can be made: %v", Require, err)
	}
	tb.Skipf("no machine can be made: %v", err)
}
