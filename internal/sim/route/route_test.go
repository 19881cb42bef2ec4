package route_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/route"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          map[string]string // nil: no match
	}{
		{"/v1/machines", "/v1/machines", map[string]string{}},
		{"/v1/machines", "/v1/machines/", nil},
		{"/v1/machines", "/v1/Machines", nil},
		{"/v1/machines/{id}", "/v1/machines/a", map[string]string{"id": "a"}},
		{"/v1/machines/{id}", "/v1/machines/", nil},
		{"/v1/machines/{id}", "/v1/machines", nil},
		{"/v1/machines/{id}", "/v1/machines/a/b", nil},
		{"/v1/machines/{id}", "/v1/machines/a%2Fb", map[string]string{"id": "a%2Fb"}},
		{"/m/{id}/files/{*path}", "/m/a/files/x/y", map[string]string{"id": "a", "path": "x/y"}},
		{"/m/{id}/files/{*path}", "/m/a/files//x", map[string]string{"id": "a", "path": "/x"}},
		{"/m/{id}/files/{*path}", "/m/a/files/", nil},
		{"/m/{id}/files/{*path}", "/m/a/files", nil},
		{"/m/{id}/connect/", "/m/a/connect/", map[string]string{"id": "a"}},
		{"/m/{id}/connect/", "/m/a/connect", nil},
	} {
		params, ok := route.New(tt.pattern).Match(strings.Split(tt.path, "/"))
		if ok != (tt.want != nil) {
			t.Errorf("%s in %s: %v", tt.path, tt.pattern, ok)
			continue
		}
		if ok && !cmp.Equal(params, tt.want) {
			t.Errorf("%s in %s: %v, want %v", tt.path, tt.pattern, params, tt.want)
		}
	}
}

func TestUnescape(t *testing.T) {
	params := map[string]string{"a": "x%2Fy", "b": "100%", "c": "%e2%82%ac"}
	if bad := route.Unescape(params); bad != "" {
		t.Fatalf("%s is bad", bad)
	}
	if diff := cmp.Diff(map[string]string{"a": "x/y", "b": "100%", "c": "€"}, params); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if bad := route.Unescape(map[string]string{"a": "%ff"}); bad != "a" {
		t.Errorf("%q is bad, want a", bad)
	}
}
