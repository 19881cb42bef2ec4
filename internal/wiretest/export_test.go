package wiretest

import (
	"testing"

	"golang.org/x/tools/txtar"
)

// What the tests look at from outside.
var (
	Match     = match
	MatchJSON = matchJSON
	Expand    = expand
	Request   = request
	Parse     = func(src string) error { _, err := parseFact(txtar.Parse([]byte(src))); return err }
)

// ReplayOne replays one transcript and returns in what it differs.
func ReplayOne(s *Suite, t testing.TB, src string) error {
	f, err := parseFact(txtar.Parse([]byte(src)))
	if err != nil {
		return err
	}
	return s.replay(t, f)
}
