package guest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
)

func TestNoInput(t *testing.T) {
	for _, argv := range [][]string{{"cat"}, {"echo", "", "a b", "-n"}, {"sh", "-c", "cat"}} {
		got, ok := guest.ParseNoInput(guest.NoInput(argv))
		if diff := cmp.Diff(argv, got); !ok || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", argv, ok, diff)
		}
		if _, ok := guest.ParseNoInput(argv); ok {
			t.Errorf("%q was taken for one of ours", argv)
		}
	}
	if _, ok := guest.ParseNoInput(guest.NoInput(nil)); ok {
		t.Error("no command was taken for one")
	}
}
