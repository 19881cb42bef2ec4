package cloud_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

func TestErrorStyles(t *testing.T) {
	const missing = "/v1/machines/none"
	for _, tt := range []struct {
		style             cloud.ErrorStyle
		contentType, body string
	}{
		{"", "application/problem+json", `{"type":"about:blank","title":"Not Found","status":404,"detail":"machine not found","code":"not_found"}`},
		{cloud.StyleProblem, "application/problem+json", `{"type":"about:blank","title":"Not Found","status":404,"detail":"machine not found","code":"not_found"}`},
		{cloud.StyleCodeError, "application/json", `{"code":"not_found","error":"machine not found"}`},
		{cloud.StyleErrorCode, "application/json", `{"error":"machine not found","code":"not_found"}`},
		{cloud.StyleMessage, "application/json", `{"message":"machine not found"}`},
		{cloud.StyleText, "text/plain; charset=utf-8", `machine not found`},
		{cloud.StyleEmpty, "", ""},
	} {
		t.Run(string(tt.style), func(t *testing.T) {
			r := newRig(t, func(o *cloud.Options) { o.Errors = tt.style })
			a := r.must(404, "GET", missing, "")
			if a.body != tt.body || a.header.Get("Content-Type") != tt.contentType {
				t.Errorf("%q: %s, want %q: %s", a.header.Get("Content-Type"), a, tt.contentType, tt.body)
			}
			if a := r.must(404, "HEAD", missing, ""); a.body != "" {
				t.Errorf("a body for HEAD: %s", a)
			}
			if a := r.must(401, "GET", missing, "", "Authorization", ""); a.body != "" {
				t.Errorf("a body without a key: %s", a)
			}
		})
	}
}

// What a client has sent is in an error as it was, whatever it is made of.
func TestErrorQuotes(t *testing.T) {
	const name = `<b>"\ é` + "\n"
	b, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range cloud.Styles() {
		r := newRig(t, func(o *cloud.Options) { o.Errors = style })
		a := r.must(422, "POST", "/v1/machines", `{"source":{"type":`+string(b)+`}}`)
		var all map[string]any
		if style != cloud.StyleText && style != cloud.StyleEmpty && json.Unmarshal([]byte(a.body), &all) != nil {
			t.Errorf("%s: no JSON: %s", style, a)
		}
		if style == cloud.StyleEmpty {
			continue
		}
		if all == nil {
			all = map[string]any{"": a.body}
		}
		found := false
		for _, v := range all {
			text, _ := v.(string)
			found = found || strings.Contains(text, name)
		}
		if !found {
			t.Errorf("%s: %s", style, a)
		}
	}
}

func TestSuspended(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Suspended = []string{cloud.DefaultAccount} })
	for _, tt := range routes {
		a := r.do(tt.method, tt.path, "")
		told := tt.path == "/v1/me" || tt.path == "/v1/account"
		if told != (a.status == 200) || !told && (a.status != 402 || !strings.Contains(a.body, `"code":"payment_required"`)) {
			t.Errorf("%s %s: %s", tt.method, tt.path, a)
		}
	}
	if a := r.do("GET", "/v1/me", ""); !strings.Contains(a.body, `"tenantStatus":"suspended"`) {
		t.Errorf("%s", a)
	}
}
