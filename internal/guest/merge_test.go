package guest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
)

// What is merged can be told from what is not, and taken apart again.
func TestMergeOutput(t *testing.T) {
	long := strings.Repeat("x", guest.MaxArg+1)
	for name, tt := range map[string]struct {
		argv  []string
		shift int
	}{
		"program":      {[]string{"prog", "a", ""}, 4},
		"script":       {[]string{"sh", "-c", "echo a"}, 4},
		"long script":  {[]string{"bash", "-c", long, "name", "a"}, 0},
		"long, not -c": {[]string{"prog", "-x", long}, 4},
	} {
		merged, shift := guest.MergeOutput(tt.argv)
		if shift != tt.shift || len(merged) != len(tt.argv)+shift {
			t.Errorf("%s: %d arguments before %d, want %d", name, shift, len(tt.argv), tt.shift)
		}
		plain, ok := guest.ParseMerged(merged)
		if diff := cmp.Diff(tt.argv, plain); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, diff)
		}
		if again, ok := guest.ParseMerged(tt.argv); ok || len(again) != len(tt.argv) {
			t.Errorf("%s: taken for merged: %q", name, again)
		}
	}
}
