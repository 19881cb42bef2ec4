package lossy_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/internal/lossy"
)

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"héllo":                      "héllo",
		"a\xffb":                     "a\ufffdb",
		"\xff\xfe":                   "\ufffd\ufffd",
		"\xe2\x82":                   "\ufffd",        // the beginning of a character
		"\xe2\x82x":                  "\ufffdx",       // which does not go on
		"\xe2\x28\xa1":               "\ufffd(\ufffd", // one that breaks off
		"\xf0\x9f\x98":               "\ufffd",
		"\xf0\x9f\x98\x80":           "😀",
		"\xed\xa0\x80":               "\ufffd\ufffd\ufffd", // half of a pair is no character
		"\xc0\xaf":                   "\ufffd\ufffd",       // nor is a long form
		"\xf4\x90\x80\x80":           "\ufffd\ufffd\ufffd\ufffd",
		"\x00" + "\xe0\x80\x80" + "": "\x00\ufffd\ufffd\ufffd",
	} {
		if got := lossy.String([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "\xe2\x82\xac", "\xe2\x82", "\xf0\x9f\x98\x80\xf0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := lossy.String(b)
		if !utf8.ValidString(got) {
			t.Errorf("%q is no text", got)
		}
		if utf8.Valid(b) && got != string(b) {
			t.Errorf("%q became %q", b, got)
		}
		if strings.Count(got, "\ufffd") > len(b) {
			t.Errorf("%d bytes became %q", len(b), got)
		}
	})
}
