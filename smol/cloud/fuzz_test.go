package cloud_test

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// FuzzURL: whatever the address, the key goes over TLS or stays on this host.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"https://api.smolmachines.com", "http://127.0.0.1:8080/x", "http://localhost", "http://[::1]:1", "http://example.com", "https://me:pw@example.com",
		"http://127.0.0.1@example.com", "http://127.0.0.1%2eexample.com", "HTTP://LOCALHOST", "https://example.com/v1", "", "//", "http://[::ffff:10.0.0.1]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		svc, err := cloud.New(&cloud.Options{URL: raw, Token: token})
		if err != nil {
			if !errors.Is(err, smol.ErrInvalid) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		defer func() { _ = svc.Close() }()
		u, err := url.Parse(svc.URL())
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q became %q", raw, svc.URL())
		}
		if u.Scheme == "https" {
			return
		}
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Scheme != "http" || !strings.EqualFold(u.Hostname(), "localhost") && (err != nil || !addr.Unmap().IsLoopback()) {
			t.Errorf("%q became %q, where the key would go in the clear", raw, svc.URL())
		}
	})
}

// FuzzAnswers gives an operation answers of any kind: it ends, with a result or with an error of the library.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []struct {
		status int
		typ    string
		body   string
	}{
		{200, "application/json", machine("started")},
		{200, "application/json", "[" + machine("stopped") + "]"},
		{200, "application/json", `{"machines":[` + machine("error") + `]}`},
		{200, "application/json", `{"exitCode":0,"stdoutB64":"eA==","user":"app"}`},
		{200, "text/event-stream", "event: stdout\ndata: x\n\nevent: exit\ndata: {\"exitCode\":0}\n\n"},
		{200, "text/plain", "data: a\n\nb\r\n"},
		{200, "application/json", bill},
		{200, "application/json", `[{"id":"e1"},null,7]`},
		{404, "text/plain", "file not found: x"},
		{409, "application/problem+json", `{"status":409,"detail":"name already in use"}`},
		{500, "text/html", "<html>"},
		{202, "", ""},
		{302, "", ""},
	} {
		for op := range everything {
			f.Add(uint8(op), seed.status, seed.typ, []byte(seed.body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, typ string, body []byte) {
		if status < 200 || status > 599 {
			status = 200 + (status&0x7fffffff)%400
		}
		typ = strings.ToValidUTF8(strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, typ), "")
		answer := roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Body != nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_ = req.Body.Close()
			}
			return &http.Response{
				StatusCode: status, Header: http.Header{"Content-Type": {typ}}, Body: io.NopCloser(strings.NewReader(string(body))),
				ContentLength: int64(len(body)), Request: req, ProtoMajor: 1, ProtoMinor: 1,
			}, nil
		})
		svc, err := cloud.New(&cloud.Options{URL: "https://cloud.test", Token: token, HTTPClient: &http.Client{Transport: answer}})
		if err != nil {
			t.Fatal(err)
		}
		svc.Backend().Hurry()
		op := everything[int(which)%len(everything)]
		if op.name == "start" || op.name == "stop" {
			return // they ask again, for as long as they are told that the machine is on its way
		}
		err = op.do(t.Context(), svc.Backend(), id)
		var own *smol.Error
		var state *smol.StateError
		if err != nil && !errors.As(err, &own) && !errors.As(err, &state) {
			t.Errorf("%s: %T %v", op.name, err, err)
		}
		if own != nil && own.Code == "" {
			t.Errorf("%s: %#v has no code", op.name, own)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", op.name, err)
		}
	})
}
