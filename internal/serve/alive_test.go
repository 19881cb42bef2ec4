//go:build linux || darwin

package serve_test

import "testing"

// TestAliveUnlessKnown asks of a process that lives, by a program that cannot look: it must not be taken for one that has ended.
func TestAliveUnlessKnown(t *testing.T) {
	t.Parallel()
	p := newPlace(t).program("starved")
	p.says("true false")
	p.says("true true")
}
