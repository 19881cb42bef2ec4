package cloud_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

func TestURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "https://api.smolmachines.com",
		"https://cloud.example.com":          "https://cloud.example.com",
		"https://cloud.example.com///":       "https://cloud.example.com",
		"https://cloud.example.com:8443/api": "https://cloud.example.com:8443/api",
		"http://127.0.0.1:8080":              "http://127.0.0.1:8080",
		"http://127.9.9.9:8080/":             "http://127.9.9.9:8080",
		"http://localhost:8080":              "http://localhost:8080",
		"http://[::1]:8080":                  "http://[::1]:8080",
	} {
		svc, err := cloud.New(&cloud.Options{URL: in, Token: token})
		if err != nil || svc.URL() != want {
			t.Errorf("%q: %v, want %q", in, err, want)
			continue
		}
		_ = svc.Close()
	}
	for in, want := range map[string]string{
		"http://cloud.example.com":            "in the clear",
		"http://10.0.0.1:8080":                "in the clear",
		"http://localhost.example.com":        "in the clear",
		"http://127.0.0.1.example.com":        "in the clear",
		"http://0.0.0.0:8080":                 "in the clear",
		"ftp://cloud.example.com":             "neither",
		"unix:///run/cloud.sock":              "is not an address",
		"cloud.example.com":                   "is not an address",
		"//cloud.example.com":                 "neither",
		"https://":                            "is not an address",
		"https://:443":                        "is not an address",
		"https:cloud.example.com":             "is not an address",
		"https://me:hunter2@example.com":      "user name or password",
		"https://me:hunter2@example.com/ x":   "space",
		"https://example.com?x=1":             "query",
		"https://example.com?":                "query",
		"https://example.com#x":               "query",
		"https://example.com/v1":              "leave /v1 out",
		"https://example.com/v1/":             "leave /v1 out",
		"https://example.com/a/../b":          "leads elsewhere",
		"https://example.com/\r\nX-Evil: 1":   "space or a control",
		"https://exa mple.com":                "space",
		"https://%zz":                         "is not an address",
		strings.Repeat("x", 1<<16) + "://a.b": "neither",
	} {
		_, err := cloud.New(&cloud.Options{URL: in, Token: token})
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want one that says %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error tells the password: %v", in, err)
		}
	}
}

func TestToken(t *testing.T) {
	for _, o := range []*cloud.Options{nil, {}} {
		_, err := cloud.New(o)
		e := asError(t, err)
		if !errors.Is(err, smol.ErrUnauthenticated) || !strings.Contains(e.Hint, "SMOL_CLOUD_TOKEN") {
			t.Errorf("%v, hint %q", err, e.Hint)
		}
	}
	for _, bad := range []string{
		token + "\n", token + "\r\nX-Evil: 1", " " + token, token + " x", token + "\x00", token + "é", token + "\x7f", strings.Repeat(token, 1000),
	} {
		_, err := cloud.New(&cloud.Options{Token: bad})
		if !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%.60q: %v, want one that matches ErrInvalid", bad, err)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%.60q: the error tells the key: %v", bad, err)
		}
	}
	if _, err := cloud.New(&cloud.Options{Token: token, Tenant: "a\nb"}); !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("a tenant with a line end: %v", err)
	}
	if _, err := cloud.New(&cloud.Options{Token: token, DialTimeout: -1}); !errors.Is(err, smol.ErrInvalid) {
		t.Errorf("a negative DialTimeout: %v", err)
	}
}

func TestTenantIsSent(t *testing.T) {
	s := serve(t, answers{"GET /machines": func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Smol-Tenant"); got != "org-7" {
			t.Errorf("Smol-Tenant is %q", got)
		}
		says("[]")(w, r)
	}})
	svc := newService(t, &cloud.Options{URL: s.url, Token: token, Tenant: "org-7"})
	for _, err := range svc.List(t.Context(), nil) {
		t.Error(err)
	}
}

func TestOptionsFromEnv(t *testing.T) {
	for _, tt := range []struct{ token, url, wantToken, wantURL string }{
		{"", "", "", ""},
		{token, "", token, ""},
		{token + "\n", " https://example.com ", token, "https://example.com"},
		{"", "http://127.0.0.1:1", "", "http://127.0.0.1:1"},
	} {
		t.Setenv(cloud.EnvToken, tt.token)
		t.Setenv(cloud.EnvURL, tt.url)
		o := cloud.OptionsFromEnv()
		if o.Token != tt.wantToken || o.URL != tt.wantURL {
			t.Errorf("%q %q gave %q %q", tt.token, tt.url, o.Token, o.URL)
		}
	}
}

// A login that the smol command has stored is not used: being logged in is no consent to spend money.
func TestStoredLoginIsNotRead(t *testing.T) {
	home := t.TempDir()
	writeFile(t, home+"/.config/smolvm/config.toml", "[cloud]\napi_key = \""+token+"\"\nendpoint = \"http://127.0.0.1:1\"\n")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/.config")
	t.Setenv("SMOLVM_CONFIG", home+"/.config/smolvm/config.toml")
	t.Setenv(cloud.EnvToken, "")
	t.Setenv(cloud.EnvURL, "")
	if o := cloud.OptionsFromEnv(); o.Token != "" || o.URL != "" {
		t.Errorf("got the options %v", o)
	}
}

func TestOptionsDoNotPrintTheKey(t *testing.T) {
	o := cloud.Options{Token: token, URL: "https://example.com"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "options", o, "pointer", &o)
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "options", o, "pointer", &o)
	asJSON, err := json.Marshal(struct{ Token, URL string }{"", o.String()})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(o), fmt.Sprint(&o), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), fmt.Sprintf("%#v", &o), fmt.Sprintf("%q", o), log.String(), string(asJSON),
	} {
		if strings.Contains(text, "canary") {
			t.Errorf("printed %s", text)
		}
		if !strings.Contains(text, "example.com") {
			t.Errorf("printed %s, which does not tell the service", text)
		}
	}
	svc := newService(t, &o)
	if text := fmt.Sprintf("%+v %#v %+v", svc, svc, svc.Backend()); strings.Contains(text, "canary") {
		t.Errorf("the service prints %s", text)
	}
}
