package local_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or a server that a test will kill.
func TestMain(m *testing.M) {
	if at := os.Getenv(serverEnv); at != "" {
		os.Exit(runServer(at))
	}
	goleak.VerifyTestMain(m)
}
