package smoltest_test

import (
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// A few rows of the suite, on both fleets, as an ordinary user when this is root: those that have to do with users, modes, signals and mounts.
// The whole suite runs so when `go test` is run by one.
func TestBackendAsUser(t *testing.T) {
	t.Parallel()
	const rows = "(create|exec|command|trees|stop)/^(runs|user|signal|round_trip|keeps_disks.*)$"
	simtest.AsUser(t, "^Test(Local|Cloud)Backend$/^sandbox$/"+rows, "AsUser")
}
