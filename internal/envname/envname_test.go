package envname_test

import (
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/envname"
)

func TestCheck(t *testing.T) {
	for _, name := range []string{"A", "_", "z9", "a_B_9", strings.Repeat("x", envname.Max)} {
		if err := envname.Check(name); err != nil {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"": "an empty name", strings.Repeat("x", envname.Max+1): "257 bytes; at most 256",
		"9A": `"9A"`, "A-B": `"A-B"`, "A=B": `"A=B"`, "A\x00": `"A\x00"`, "\xff": `"\xff"`, "ä": `"ä"`, "..": `".."`, "a/b": `"a/b"`, "A B": `"A B"`,
		"A[": `"A["`, "A`": "\"A`\"", "A{": `"A{"`, "A@": `"A@"`, "A/": `"A/"`, "A:": `"A:"`,
	} {
		if err := envname.Check(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", name, err, want)
		}
	}
}
