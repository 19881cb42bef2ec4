package randhex_test

import (
	"regexp"
	"testing"

	"github.com/smol-machines/smol-go/internal/randhex"
)

func TestString(t *testing.T) {
	if got := randhex.String(0); got != "" {
		t.Errorf("no bytes are %q", got)
	}
	first, second := randhex.String(16), randhex.String(16)
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(first) || first == second {
		t.Errorf("%q and %q", first, second)
	}
}
