package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

// routes are all routes, with the scope that each needs first; "" needs a key only.
var routes = []struct{ scope, method, path string }{
	{"", "GET", "/v1/me"},
	{"", "GET", "/v1/account/plans"},
	{"usage:read", "GET", "/v1/account"},
	{"usage:read", "GET", "/v1/usage"},
	{"machine:read", "GET", "/v1/machines"},
	{"machine:create", "POST", "/v1/machines"},
	{"machine:read", "GET", "/v1/machines/m"},
	{"machine:delete", "DELETE", "/v1/machines/m"},
	{"machine:create", "POST", "/v1/machines/m/start"},
	{"machine:create", "POST", "/v1/machines/m/stop"},
	{"machine:create", "POST", "/v1/machines/m/pause"},
	{"machine:create", "POST", "/v1/machines/m/resume"},
	{"machine:create", "POST", "/v1/machines/m/resize"},
	{"machine:create", "POST", "/v1/machines/m/rollback"},
	{"machine:create", "POST", "/v1/machines/m/export"},
	{"machine:create", "POST", "/v1/machines/m/snapshot"},
	{"machine:read", "GET", "/v1/machines/m/snapshots"},
	{"machine:exec", "POST", "/v1/machines/m/exec"},
	{"machine:exec", "POST", "/v1/machines/m/exec/stream"},
	{"machine:exec", "GET", "/v1/machines/m/exec/interactive"},
	{"machine:exec", "POST", "/v1/machines/m/code"},
	{"machine:read", "GET", "/v1/machines/m/sessions"},
	{"machine:exec", "POST", "/v1/machines/m/sessions"},
	{"machine:exec", "DELETE", "/v1/machines/m/sessions/s"},
	{"machine:exec", "POST", "/v1/machines/m/sessions/s/exec"},
	{"machine:files", "GET", "/v1/machines/m/files/etc/hosts"},
	{"machine:files", "PUT", "/v1/machines/m/files/etc/hosts"},
	{"machine:create", "PUT", "/v1/machines/m/ports"},
	{"machine:create", "POST", "/v1/machines/m/port-links"},
	{"machine:create", "DELETE", "/v1/machines/m/port-links"},
	{"machine:create", "POST", "/v1/machines/m/share"},
	{"machine:create", "DELETE", "/v1/machines/m/share"},
	{"machine:exec", "PATCH", "/v1/machines/m/connect/80"},
	{"machine:exec", "GET", "/v1/machines/m/connect/80/"},
	{"machine:exec", "GET", "/v1/machines/m/connect/80/a/b"},
	{"machine:exec", "POST", "/v1/machines/m/connect-token"},
	{"machine:exec", "GET", "/v1/machines/m/tunnel/80"},
	{"machine:read", "GET", "/v1/machines/m/events"},
	{"machine:read", "GET", "/v1/machines/m/logs"},
	{"machine:read", "GET", "/v1/machines/m/usage"},
	{"machine:create", "POST", "/v1/machines/m/branches"},
	{"machine:create", "POST", "/v1/machines/m/branches/batch"},
	{"machine:create", "POST", "/v1/machines/m/fork"},
	{"machine:create", "POST", "/v1/machines/m/fork-batch"},
	{"machine:read", "GET", "/v1/machines/m/lineage"},
	{"machine:create", "POST", "/v1/machines/m/checkpoints"},
	{"machine:read", "GET", "/v1/machines/m/checkpoints"},
	{"machine:create", "POST", "/v1/checkpoints"},
	{"machine:read", "GET", "/v1/checkpoints/c"},
	{"machine:delete", "DELETE", "/v1/checkpoints/c"},
	{"machine:files", "GET", "/v1/checkpoints/c/download"},
	{"machine:create", "POST", "/v1/checkpoints/c/restore"},
	{"machine:create", "POST", "/v1/checkpoints/c/complete"},
	{"machine:create", "POST", "/v1/machines/m/cache-disk/publish"},
	{"machine:read", "GET", "/v1/cache-disks"},
	{"machine:create", "POST", "/v1/cache-disks"},
	{"machine:read", "GET", "/v1/cache-disks/c"},
	{"machine:delete", "DELETE", "/v1/cache-disks/c"},
	{"machine:read", "GET", "/v1/credentials"},
	{"machine:create", "PUT", "/v1/credentials/c"},
	{"machine:delete", "DELETE", "/v1/credentials/c"},
}

// Nobody is told anything without a key, not even which paths there are, and a key does no more than its scopes say.
func TestKeys(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) {
		o.Keys = []cloud.Key{
			{Token: "narrow", Scopes: []string{"group:write"}},
			{Token: "empty", Scopes: []string{}},
			{Token: "all", Scopes: []string{"*"}},
			{Token: "brief", Expires: r0.Add(time.Minute)},
		}
	})
	for _, tt := range routes {
		a := r.do(tt.method, tt.path, "", "Authorization", "")
		if a.status != 401 || a.body != "" {
			t.Errorf("%s %s without a key: %s", tt.method, tt.path, a)
		}
		a = r.do(tt.method, tt.path, "", "Authorization", "Bearer nobody")
		if a.status != 401 || a.body != `{"code":"unknown_key","error":"unknown API key"}` {
			t.Errorf("%s %s with an unknown key: %s", tt.method, tt.path, a)
		}
		a = r.do(tt.method, tt.path, "", "Authorization", "Bearer narrow")
		if refused := a.status == 403 && strings.Contains(a.body, "missing scope: ") && strings.Contains(a.body, tt.scope); refused != (tt.scope != "") {
			t.Errorf("%s %s with a key that may not: %s", tt.method, tt.path, a)
		}
		if a = r.do(tt.method, tt.path, "", "Authorization", "Bearer all"); a.status == 401 || a.status == 403 {
			t.Errorf("%s %s with a key that may: %s", tt.method, tt.path, a)
		}
	}
	for _, tt := range []struct {
		auth   string
		status int
		want   string
	}{
		{"Bearer ", 401, ""},
		{"Basic " + testToken, 401, ""},
		{testToken, 401, ""},
		{"bearer " + testToken, 200, "tenant-1"},
		{"Bearer  " + testToken, 200, "tenant-1"},
		{"Bearer " + testToken + "x", 401, "unknown_key"},
		{"Bearer " + testToken[:len(testToken)-1], 401, "unknown_key"},
		{"Bearer " + strings.ToUpper(testToken), 401, "unknown_key"},
		{"Bearer empty", 403, "no scopes"},
		{"Bearer brief", 200, "tenant-1"},
	} {
		if a := r.do("GET", "/v1/me", "", "Authorization", tt.auth); a.status != tt.status || !strings.Contains(a.body, tt.want) || tt.want == "" && a.body != "" {
			t.Errorf("%q: %s, want %d with %q", tt.auth, a, tt.status, tt.want)
		}
	}
	r.clock.Advance(time.Minute)
	if a := r.do("GET", "/v1/me", "", "Authorization", "Bearer brief"); a.status != 401 || a.body != `{"code":"expired_key","error":"API key has expired"}` {
		t.Errorf("a key whose time is over: %s", a)
	}
	for _, q := range r.s.Requests() {
		if strings.Contains(q.Path+q.Query, testToken) {
			t.Errorf("the key is remembered: %+v", q)
		}
	}
}

// r0 is when the clocks of the tests begin.
var r0 = cloud.NewFakeClock(time.Time{}).Now()

func TestUnknownRoutes(t *testing.T) {
	r := newRig(t, nil)
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/", 404, ""},
		{"GET", "/v1", 404, ""},
		{"GET", "/v1/machines/", 404, ""},
		{"GET", "/v1//machines", 404, ""},
		{"GET", "/v1/groups", 404, ""},
		{"GET", "/v1/agents", 404, ""},
		{"POST", "/v1/machines/m/assign", 404, ""},
		{"GET", "/openapi.json", 404, ""},
		{"PUT", "/v1/machines", 405, "GET,HEAD,POST"},
		{"GET", "/v1/machines/m/start", 405, "POST"},
		{"POST", "/v1/machines/m/files/a", 405, "GET,HEAD,PUT"},
		{"OPTIONS", "/v1/machines", 405, "GET,HEAD,POST"},
	} {
		a := r.do(tt.method, tt.path, "")
		if a.status != tt.status || a.body != "" || a.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %s, allow %q", tt.method, tt.path, a, a.header.Get("Allow"))
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/v1/pricing", "/v1/status/machines"} {
		if a := r.do("GET", path, "", "Authorization", ""); a.status != 401 {
			t.Errorf("%s without a key: %s", path, a)
		}
		r.must(200, "GET", path, "")
	}
	open := newRig(t, func(o *cloud.Options) { o.OpenInfo = true })
	for _, path := range []string{"/health", "/livez", "/readyz", "/v1/pricing", "/v1/status/machines"} {
		open.must(200, "GET", path, "", "Authorization", "")
	}
}

func TestRequestID(t *testing.T) {
	r := newRig(t, nil)
	for _, id := range []string{"", "my.Request_id-1", strings.Repeat("a", 128), strings.Repeat("a", 129), "a b", "a/b", "é"} {
		got := r.do("GET", "/health", "", "X-Request-Id", id).header.Get("X-Request-Id")
		safe := id != "" && len(id) <= 128 && !strings.ContainsAny(id, " /é")
		if got == "" || (got == id) != safe {
			t.Errorf("%q came back as %q", id, got)
		}
	}
	for _, path := range []string{"/nowhere", "/v1/machines/none"} {
		if a := r.do("GET", path, ""); a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
}

// Secrets in a query are good for handshakes only, and are not remembered.
func TestTokenInQuery(t *testing.T) {
	r := newRig(t, nil)
	if a := r.do("GET", "/v1/me?access_token="+testToken, "", "Authorization", ""); a.status != 401 {
		t.Errorf("%s", a)
	}
	for _, q := range r.s.Requests() {
		if q.Query != "access_token=" {
			t.Errorf("%+v", q)
		}
	}
}

func TestRateLimit(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) {
		o.Rate = 2
		o.Keys = []cloud.Key{{Token: "other", Account: "other"}}
	})
	for _, want := range []string{"1", "0"} {
		if a := r.must(200, "GET", "/v1/me", ""); a.header.Get("X-Ratelimit-Remaining") != want {
			t.Errorf("%v", a.header)
		}
	}
	r.clock.Advance(500 * time.Millisecond)
	a := r.do("POST", "/v1/machines", "{}")
	if a.status != 429 || a.header.Get("Retry-After") != "60" || !strings.Contains(a.body, `"code":"too_many_requests"`) {
		t.Errorf("%s, %v", a, a.header)
	}
	r.must(200, "GET", "/v1/me", "", "Authorization", "Bearer other")
	r.clock.Advance(time.Minute)
	r.must(200, "GET", "/v1/me", "")
}
