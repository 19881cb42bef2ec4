package smol_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is a program that a test has started: see jobClient and jobServer.
func TestMain(m *testing.M) {
	if order := os.Getenv(clientOrder); order != "" {
		os.Exit(jobClient(order))
	}
	if order := os.Getenv(serviceOrder); order != "" {
		os.Exit(jobServer(order))
	}
	goleak.VerifyTestMain(m)
}
