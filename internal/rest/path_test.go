package rest_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

func TestSegment(t *testing.T) {
	for value, want := range map[string]string{
		"web-1":    "web-1",
		"mach_x.y": "mach_x.y",
		"a b?#%":   "a%20b%3F%23%25",
		"ü":        "%C3%BC",
	} {
		if got, err := rest.Segment("id", value); err != nil || got != want {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	for _, value := range hostile {
		if got, err := rest.Segment("id", value); err == nil || asError(t, err).Code != smol.CodeInvalid || !strings.Contains(err.Error(), "id \"") {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}

var hostile = []string{"", ".", "..", "a/b", "../images/x", `a\b`, "a\x00b", "a\xffb", strings.Repeat("a", 600)}

func TestGuestPath(t *testing.T) {
	for p, want := range map[string]string{
		"/a":             "a",
		"/tmp/a.txt":     "tmp/a.txt",
		"//tmp/./a":      "tmp/a",
		"/a b/ü?#%2F":    "a%20b/%C3%BC%3F%23%252F",
		"/...":           "...",
		"/workspace/..a": "workspace/..a",
		"/a\nb":          "a%0Ab",
	} {
		if got, err := rest.GuestPath(p); err != nil || got != want {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
	for _, p := range append([]string{"/", "/a/", "/a/.", "/..", "/a/../b", "a", "./a", "/" + strings.Repeat("a", 5000)}, hostile...) {
		if got, err := rest.GuestPath(p); err == nil || asError(t, err).Code != smol.CodeInvalid {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
}

// FuzzGuestPath wants a path that decodes to what went in, and that no server resolves to somewhere else.
func FuzzGuestPath(f *testing.F) {
	for _, p := range append([]string{"/tmp/a", "/a%2e%2e/b", "/..%2f/x", "/a//b/./c"}, hostile...) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got, err := rest.GuestPath(p)
		if err != nil {
			return
		}
		back, err := url.PathUnescape(got)
		if err != nil || "/"+back != path.Clean(p) {
			t.Errorf("%q became %q, which is %q, %v", p, got, back, err)
		}
		const prefix = "/api/v1/machines/m/files/"
		u := url.URL{Scheme: "http", Host: "h", Path: prefix + back, RawPath: prefix + got}
		if u.EscapedPath() != prefix+got || path.Clean(u.Path) != u.Path || !strings.HasPrefix(path.Clean(u.Path), prefix) {
			t.Errorf("%q became %q", p, u.EscapedPath())
		}
	})
}
