package wiretest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/wiretest"
)

func TestMatch(t *testing.T) {
	for _, r := range []struct {
		pattern, text string
		ok            bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "axb", false},
		{"", "", true},
		{"", "x", false},
		{"a", "a\n", false},
		{"x {{any}}", "x ", true},
		{"x {{text}}", "x ", false},
		{"{{any}}", "a\nb", false},
		{"{{all}}b", "a\nb", true},
		{"{{int}}/{{number}}", "-1/2.50", true},
		{"{{int}}", "1.0", false},
		{"{{hex8}}", "0123abcd", true},
		{"{{hex8}}", "0123ABCD", false},
		{"{{all}}z", strings.Repeat("y", 100_000) + "z", true},
		{"\xff{{any}}", "\xff\xfe", true},
		{"{{nonsense}}", "{{nonsense}}", false},
	} {
		if err := wiretest.Match(r.pattern, r.text); (err == nil) != r.ok {
			t.Errorf("%q and %q: %v", r.pattern, r.text, err)
		}
	}
}

func TestMatchJSON(t *testing.T) {
	for _, r := range []struct {
		pattern, body string
		ok            bool
	}{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"...":"..."}`, `{"a":1,"b":2}`, true},
		{`{"a":1}`, `{}`, false},
		{`{"a?":1}`, `{}`, true},
		{`{"a?":1}`, `{"a":2}`, false},
		{`{"a":"{{absent}}","...":"..."}`, `{"b":1}`, true},
		{`{"a":"{{absent}}","...":"..."}`, `{"a":null}`, false},
		{`{"a":"{{int}}"}`, `{"a":7}`, true},
		{`{"a":"{{int}}"}`, `{"a":"x"}`, false},
		{`{"a":"{{any}}"}`, `{"a":"x\ny"}`, true},
		{`{"a":"{{text}}"}`, `{"a":""}`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`[1,2]`, `[1]`, false},
		{`[1]`, `{"0":1}`, false},
		{`{}`, `[]`, false},
		{`"a"`, `7`, false},
		{`{}`, `{} x`, false},
		{`{}`, `<html>`, false},
		{`nonsense`, `{}`, false},
	} {
		if err := wiretest.MatchJSON(r.pattern, r.body); (err == nil) != r.ok {
			t.Errorf("%s and %s: %v", r.pattern, r.body, err)
		}
	}
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"m": "mach-1", "tmp": "/t"}
	for in, want := range map[string]string{
		"/v1/{{m}}/{{tmp}}/{{other}}/{{int}}": "/v1/mach-1//t/{{other}}/{{int}}",
		"{{repeat:3:ab}}":                     "ababab",
		"{{hex:0d 0aFF}}":                     "\r\n\xff",
	} {
		if got, err := wiretest.Expand(in, vars); got != want || err != nil {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"{{repeat:x:a}}", "{{hex:0}}"} {
		if got, err := wiretest.Expand(bad, vars); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func TestRequest(t *testing.T) {
	added := [][2]string{{"authorization", "Bearer k"}}
	for _, r := range []struct{ name, in, want string }{
		{"no body", "GET / HTTP/1.1\n", "GET / HTTP/1.1|authorization: Bearer k|host: localhost||"},
		{"an empty body", "POST / HTTP/1.1\n\n", "POST / HTTP/1.1|authorization: Bearer k|content-length: 0|host: localhost||"},
		{
			"a body", "POST / HTTP/1.1\ncontent-type: x\n\nab\ncd\n",
			"POST / HTTP/1.1|content-type: x|authorization: Bearer k|content-length: 5|host: localhost||ab\ncd",
		},
		{"written headers", "GET / HTTP/1.1\nHost: h\nAuthorization: Basic x\n", "GET / HTTP/1.1|Host: h|Authorization: Basic x||"},
		{"a header kept away", "GET / HTTP/1.1\n!authorization\n", "GET / HTTP/1.1|host: localhost||"},
		{
			"chunks", "PUT / HTTP/1.1\ntransfer-encoding: chunked\n\n0\r\n\r\n",
			"PUT / HTTP/1.1|transfer-encoding: chunked|authorization: Bearer k|host: localhost||0||",
		},
	} {
		_, raw := wiretest.Request(r.in, added)
		want := strings.ReplaceAll(r.want, "|", "\r\n")
		if diff := cmp.Diff(want, string(raw)); diff != "" && r.name != "chunks" {
			t.Errorf("%s (-want +got):\n%s", r.name, diff)
		}
	}
	if method, _ := wiretest.Request("DELETE /x HTTP/1.1\n", nil); method != "DELETE" {
		t.Errorf("method %q", method)
	}
}

func TestMalformedTranscripts(t *testing.T) {
	const request, reply = "-- request --\nGET / HTTP/1.1\n", "-- reply --\nHTTP/1.1 200\n"
	for name, src := range map[string]string{
		"a request without a reply":         request,
		"a request followed by another":     request + request,
		"a reply alone":                     reply,
		"a section that is not known":       "-- answer --\n",
		"a count that is none":              "-- open many --\nGET / HTTP/1.1\n" + reply,
		"a reply without a status":          request + "-- reply --\nok\n",
		"a reply with a status of one part": request + "-- reply --\nHTTP/1.1 20\n",
		"a header without a colon":          request + "-- reply --\nHTTP/1.1 200\nallow\n",
	} {
		if err := wiretest.Parse(src); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := wiretest.Parse("# §1: x\nversion 1\n-- setup --\nGET /\n" + request + reply); err != nil {
		t.Error(err)
	}
}
