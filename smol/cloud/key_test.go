package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// everything is what can be asked of a machine. The rows of several tests are built on it.
var everything = []struct {
	name string
	do   func(ctx context.Context, b *cloud.Backend, id string) error
}{
	{"inspect", func(ctx context.Context, b *cloud.Backend, id string) error { _, err := b.Inspect(ctx, id); return err }},
	{"start", func(ctx context.Context, b *cloud.Backend, id string) error {
		_, err := b.Start(ctx, id, nil)
		return err
	}},
	{"stop", func(ctx context.Context, b *cloud.Backend, id string) error {
		_, err := b.Stop(ctx, id, nil)
		return err
	}},
	{"delete", func(ctx context.Context, b *cloud.Backend, id string) error { return b.Delete(ctx, id, nil) }},
	{"delete with branches", func(ctx context.Context, b *cloud.Backend, id string) error {
		return b.Delete(ctx, id, &smol.DeleteOptions{Cascade: true})
	}},
	{"exec", func(ctx context.Context, b *cloud.Backend, id string) error {
		_, err := b.Exec(ctx, id, &smol.ExecRequest{Argv: []string{"true"}})
		return err
	}},
	{"stream", func(ctx context.Context, b *cloud.Backend, id string) (err error) {
		for _, err = range b.Stream(ctx, id, &smol.ExecRequest{Argv: []string{"true"}}) {
		}
		return err
	}},
	{"logs", func(ctx context.Context, b *cloud.Backend, id string) (err error) {
		for _, err = range b.Logs(ctx, id, nil) {
		}
		return err
	}},
	{"read file", func(ctx context.Context, b *cloud.Backend, id string) error {
		r, _, err := b.Download(ctx, id, "/x")
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		return err
	}},
	{"write file", func(ctx context.Context, b *cloud.Backend, id string) error {
		return b.Upload(ctx, id, "/x", strings.NewReader("x"), 1)
	}},
	{"branch", func(ctx context.Context, b *cloud.Backend, id string) error {
		_, err := b.Branch(ctx, id, "twig", &smol.BranchOptions{Labels: map[string]string{}})
		return err
	}},
	{"usage", func(ctx context.Context, b *cloud.Backend, id string) error {
		_, err := machineOf(b, id).Usage(ctx)
		return err
	}},
	{"delete with usage", func(ctx context.Context, b *cloud.Backend, id string) error {
		_, err := machineOf(b, id).DeleteWithUsage(ctx, nil)
		return err
	}},
	{"events", func(ctx context.Context, b *cloud.Backend, id string) (err error) {
		for _, err = range machineOf(b, id).Events(ctx, nil) {
		}
		return err
	}},
	{"create", func(ctx context.Context, b *cloud.Backend, _ string) error {
		_, err := b.Create(ctx, &smol.Spec{Name: "web", Image: "alpine"})
		return err
	}},
	{"list", func(ctx context.Context, b *cloud.Backend, _ string) (err error) {
		for _, err = range b.List(ctx, nil) {
		}
		return err
	}},
	{"account", func(ctx context.Context, b *cloud.Backend, _ string) error { _, err := b.Account(ctx); return err }},
	{"health", func(ctx context.Context, b *cloud.Backend, _ string) error { _, err := b.Health(ctx); return err }},
}

// machineOf returns a handle of the machine.
func machineOf(b *cloud.Backend, id string) *cloud.Machine {
	m, _ := cloud.Extend(smol.NewFleet(b).Machine(id))
	return m
}

// leaks reports where the key turns up in what a program may do with an error.
func leaks(err error) string {
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err)
	texts := []string{log.String()}
	for e := err; e != nil; e = errors.Unwrap(e) {
		asJSON, _ := json.Marshal(e)
		texts = append(texts, e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e), string(asJSON))
		var own *smol.Error
		if errors.As(e, &own) {
			texts = append(texts, own.Hint, own.ServerCode, own.RequestID)
		}
	}
	for _, text := range texts {
		// A part of it would be a leak as well.
		if strings.Contains(text, "canary") || strings.Contains(text, "0123456789abcdef") && !strings.Contains(text, id) {
			return text
		}
	}
	return ""
}

// TestKeyIsNotRepeated lets a service repeat the key in every place of every answer.
func TestKeyIsNotRepeated(t *testing.T) {
	long := strings.Repeat("x", 180) + token // would be cut in the middle of the key
	for name, answer := range map[string]http.HandlerFunc{
		"problem": fails(http.StatusForbidden, token, "bad key "+token),
		"error":   saysStatus(http.StatusUnauthorized, `{"error":"unknown key `+token+`","code":"unknown_key"}`),
		"escaped": saysStatus(http.StatusUnauthorized, `{"error":"unknown key \u0073mk_canary-0123456789abcdef"}`),
		"text": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "Authorization: Bearer "+token)
		},
		"page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>"+long)
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", token)
			w.Header().Set("Content-Type", "text/"+token)
			w.WriteHeader(http.StatusConflict)
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, long) },
		"a wrong type": says(`{"id":7,"x":"` + token + `","exitCode":"` + token + `","machines":"` + token + `","tenantId":{"` + token + `":1},` +
			`"version":["` + token + `"]}`),
		"a redirect elsewhere": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/?key="+token)
			w.WriteHeader(http.StatusTemporaryRedirect)
			_, _ = io.WriteString(w, `<a href="https://elsewhere.example/?key=`+token+`">`)
		},
		"no HTTP": func(w http.ResponseWriter, _ *http.Request) { raw(w, token+" "+token+"\r\n\r\n") },
		"a bad header": func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\n"+token+"\r\n\r\n")
		},
		"a bad trailer": func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"+token+"\r\n\r\n")
		},
		"an event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: error\ndata: "+token+"\n\nevent: exit\ndata: "+token+"\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{t: t}
			srv := httptest.NewServer(http.HandlerFunc(answer))
			defer srv.Close()
			s.url = srv.URL
			b := s.backend()
			for _, op := range everything {
				err := op.do(t.Context(), b, id)
				if text := leaks(err); text != "" {
					t.Errorf("%s: the key is in %s", op.name, text)
				}
			}
		})
	}
}

// raw answers with bytes that need not be HTTP.
func raw(w http.ResponseWriter, text string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(c, text)
	_ = c.Close()
}

// TestRedirectsAreNotFollowed: neither to another host, which would get the key, nor to another path, of another operation.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var mu sync.Mutex
	var stolen []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		stolen = append(stolen, fmt.Sprint(r.URL, r.Header))
	}))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{thief.URL + "/v1/machines", "/elsewhere", "//" + strings.TrimPrefix(thief.URL, "http://") + "/"} {
			n := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n++
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			}))
			b := (&server{t: t, url: srv.URL}).backend()
			for i, op := range everything {
				n = 0
				err := op.do(t.Context(), b, id)
				e := asError(t, err)
				if e.Status != status || !strings.Contains(e.Hint, "SMOL_CLOUD_URL") || n != 1 {
					t.Errorf("%d %s, row %d: %v, hint %q, after %d requests", status, op.name, i, err, e.Hint, n)
				}
			}
			srv.Close()
		}
	}
	if len(stolen) > 0 {
		t.Errorf("followed to %q", stolen)
	}
}
