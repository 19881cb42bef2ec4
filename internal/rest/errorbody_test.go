package rest_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

const (
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

// bodies are the shapes that errors come in.
var bodies = []struct {
	name, typ, body string
	status          int
	message, code   string
}{
	{"envelope", jsonType, `{"error":"machine 'x' not found","code":"NOT_FOUND"}`, 404, "machine 'x' not found", "NOT_FOUND"},
	{"envelope the other way round", jsonType, `{"code":"unknown_key","error":"unknown API key"}`, 401, "unknown API key", "unknown_key"},
	{"problem", "application/problem+json", `{"type":"about:blank","title":"Payment Required","status":402,"detail":"no credit yet","code":"payment_required"}`, 402, "no credit yet", "payment_required"},
	{"problem without detail", "application/problem+json", `{"type":"about:blank","title":"Payment Required","status":402}`, 402, "Payment Required", ""},
	{"message", jsonType, `{"message":"slow down"}`, 429, "slow down", ""},
	{"nested", jsonType, `{"error":{"message":"deep","code":7}}`, 500, "deep", "7"},
	{"JSON string", jsonType, `"just text"`, 400, "just text", ""},
	{"wrong type of content", textType, `{"error":"e","code":"C"}`, 400, "e", "C"},
	{"empty fields", jsonType, `{"error":"","code":""}`, 500, `500 Internal Server Error, application/json: {"error":"","code":""}`, ""},
	{"null fields", jsonType, `{"error":null,"code":null}`, 500, `500 Internal Server Error, application/json: {"error":null,"code":null}`, ""},
	{"foreign JSON", jsonType, `{"oops":[1,2]}`, 503, `503 Service Unavailable, application/json: {"oops":[1,2]}`, ""},
	{"JSON list", jsonType, `[1,2]`, 503, `503 Service Unavailable, application/json: [1,2]`, ""},
	{"cut JSON", jsonType, `{"error":"hal`, 500, `500 Internal Server Error, application/json: {"error":"hal`, ""},
	{"text", textType, "Failed to parse the request body as JSON: EOF while parsing a value at line 1 column 0", 400, "Failed to parse the request body as JSON: EOF while parsing a value at line 1 column 0", ""},
	{"page", "text/html", "<html><body>\n<h1>Bad  Gateway</h1>", 502, "502 Bad Gateway, text/html: <html><body> <h1>Bad Gateway</h1>", ""},
	{"page in disguise", textType, "<!doctype html>", 502, "502 Bad Gateway, text/plain: <!doctype html>", ""},
	{"empty", "", "", 408, "408 Request Timeout", ""},
	{"empty JSON", jsonType, "", 404, "404 Not Found, application/json", ""},
	{"blank", textType, " \r\n ", 405, "405 Method Not Allowed, text/plain", ""},
	{"unknown status", "", "", 799, "799", ""},
	{"control characters", textType, "a\x1b[31mred\x00\u202eb\xff", 500, "a [31mred b\ufffd", ""},
	{"octets", "application/octet-stream", "\x00\x01\x02", 500, "500 Internal Server Error, application/octet-stream", ""},
}

func TestDecode(t *testing.T) {
	for _, tt := range bodies {
		t.Run(tt.name, func(t *testing.T) {
			want := &smol.Error{Status: tt.status, Code: rest.CodeOf(tt.status), Message: tt.message, ServerCode: tt.code}
			if diff := cmp.Diff(want, rest.Decode(tt.status, tt.typ, []byte(tt.body))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoiseIsCut(t *testing.T) {
	noise := strings.Repeat("noise ", 200_000)
	for _, tt := range []struct {
		typ, body string
		most      int
	}{
		{textType, noise, 1<<10 + 8},
		{"text/html", "<p>" + noise, 300},
		{"", noise, 300},
		{jsonType, `{"error":"` + noise + `","code":"` + noise + `"}`, 8<<10 + 8},
	} {
		e := rest.Decode(500, tt.typ, []byte(tt.body))
		if len(e.Message) > tt.most || len(e.Message) < 100 || len(e.ServerCode) > 200 || !strings.HasSuffix(e.Message, "…") {
			t.Errorf("%s: message of %d bytes, code of %d", tt.typ, len(e.Message), len(e.ServerCode))
		}
	}
}

func TestCodeOf(t *testing.T) {
	want := map[int]smol.Code{
		301: smol.CodeUnknown, 400: smol.CodeInvalid, 401: smol.CodeUnauthenticated, 402: smol.CodePermissionDenied, 403: smol.CodePermissionDenied,
		404: smol.CodeNotFound, 405: smol.CodeUnsupported, 408: smol.CodeUnavailable, 409: smol.CodeConflict, 410: smol.CodeNotFound,
		412: smol.CodeConflict, 413: smol.CodeInvalid, 415: smol.CodeInvalid, 418: smol.CodeUnknown, 422: smol.CodeInvalid,
		429: smol.CodeRateLimited, 500: smol.CodeInternal, 501: smol.CodeUnsupported, 502: smol.CodeUnavailable,
		503: smol.CodeUnavailable, 504: smol.CodeUnavailable, 599: smol.CodeUnknown,
	}
	got := map[int]smol.Code{}
	for status := range want {
		got[status] = rest.CodeOf(status)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		value       string
		least, most time.Duration
	}{
		{"7", 7 * time.Second, 7 * time.Second},
		{"-1", 0, 0},
		{"soon", 0, 0},
		{"", 0, 0},
		{"999999999", 24 * time.Hour, 24 * time.Hour},
		{time.Now().Add(time.Minute).UTC().Format(http.TimeFormat), 30 * time.Second, time.Minute},
		{"Mon, 01 Jan 2001 00:00:00 GMT", 0, 0},
	} {
		s := answering(t, reply("429 Too Many Requests", textType, "slow down", "Retry-After: "+tt.value))
		_, err := s.client(t).Do(t.Context(), &rest.Request{Path: "/"})
		if e := asError(t, err); e.RetryAfter < tt.least || e.RetryAfter > tt.most || e.Code != smol.CodeRateLimited {
			t.Errorf("%q: %v", tt.value, e.RetryAfter)
		}
	}
}

// TestBodiesAreClosed counts, for every kind of answer.
func TestBodiesAreClosed(t *testing.T) {
	var reply struct {
		status int
		body   string
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(reply.status)
		_, _ = w.Write([]byte(reply.body))
	}))
	defer srv.Close()
	base, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	var counter closeCounter
	client := rest.New(&rest.Config{Base: base, Transport: &counter})
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	noise := strings.Repeat("x", 1<<20)
	for _, reply.status = range []int{200, 204, 302, 400, 404, 408, 500} {
		for _, reply.body = range []string{"", "{}", `{"error":"e"}`, "{", noise} {
			if reply.status == 204 && reply.body != "" {
				continue
			}
			for _, out := range []any{nil, new(any)} {
				err := client.JSON(t.Context(), &rest.Request{Path: "/"}, nil, out)
				if err == nil && reply.status/100 != 2 {
					t.Errorf("status %d is no error", reply.status)
				}
			}
		}
	}
	if o, c := counter.opened.Load(), counter.closed.Load(); o != c || o == 0 {
		t.Errorf("%d bodies opened, %d closed", o, c)
	}
}

// FuzzDecode wants a usable error of any body.
func FuzzDecode(f *testing.F) {
	if len(bodies) == 0 {
		f.Fatal("no seeds")
	}
	for _, b := range bodies {
		f.Add(b.status, b.typ, []byte(b.body))
	}
	f.Fuzz(func(t *testing.T, status int, typ string, body []byte) {
		e := rest.Decode(status, typ, body)
		if e.Code == "" || e.Message == "" || e.Status != status {
			t.Errorf("incomplete: %+v", e)
		}
		for _, s := range []string{e.Message, e.ServerCode} {
			if len(s) > 8<<10+8 || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("not fit to print: %q", s)
			}
		}
		if strings.Contains(e.Error(), "invalid character") && !strings.Contains(string(body), "invalid character") {
			t.Errorf("a decode error: %v", e)
		}
	})
}
