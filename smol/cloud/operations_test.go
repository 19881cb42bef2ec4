package cloud_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// TestEveryOperationFails holds what all operations share when the service refuses.
func TestEveryOperationFails(t *testing.T) {
	for _, op := range everything {
		for status, want := range map[int]error{
			400: smol.ErrInvalid, 401: smol.ErrUnauthenticated, 402: smol.ErrPermission, 403: smol.ErrPermission, 422: smol.ErrInvalid, 429: smol.ErrRateLimited,
			503: smol.ErrUnavailable, 504: smol.ErrUnavailable,
		} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", "req-9")
				fails(status, "some_code", "no luck")(w, r)
			}))
			err := op.do(t.Context(), (&server{t: t, url: srv.URL}).backend(), id)
			srv.Close()
			e := asError(t, err)
			if !errors.Is(err, want) || e.Status != status || e.ServerCode != "some_code" || e.RequestID != "req-9" || !strings.Contains(e.Message, "no luck") {
				t.Errorf("%s, %d: %#v", op.name, status, e)
			}
			if strings.HasPrefix(op.name, "delete") != (e.Op == "delete") || e.Op == "" {
				t.Errorf("%s, %d: the error is about %q", op.name, status, e.Op)
			}
		}
	}
}

// TestHostileIDs: what could lead elsewhere in a URL is not sent.
func TestHostileIDs(t *testing.T) {
	s := serve(t, answers{})
	b := s.backend()
	for _, op := range everything {
		if slices.Contains([]string{"create", "list", "account", "health"}, op.name) {
			continue
		}
		for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a/../../account", "x\x00", "\xff", strings.Repeat("x", 1<<16)} {
			// Handles have a check of their own, so the sentinel is what both have in common.
			if err := op.do(t.Context(), b, bad); !errors.Is(err, smol.ErrInvalid) {
				t.Errorf("%s of %.20q: %v", op.name, bad, err)
			}
		}
	}
	if got := s.requests(); len(got) > 0 {
		t.Errorf("sent %.200q", got)
	}
}

// TestOddIDs: ids are the service's, so whatever stays one segment is sent, escaped.
func TestOddIDs(t *testing.T) {
	var mu sync.Mutex
	var paths []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.RequestURI)
		fails(404, "not_found", "machine not found")(w, r)
	}))
	defer srv.Close()
	b := (&server{t: t, url: srv.URL + "/base"}).backend()
	for _, odd := range []string{"a b", "a?b", "a#b", "a%2fb", "ü", "a;b", "…"} {
		if _, err := b.Stop(t.Context(), odd, nil); !errors.Is(err, smol.ErrNotFound) {
			t.Errorf("%q: %v", odd, err)
		}
	}
	want := []string{"a%20b", "a%3Fb", "a%23b", "a%252fb", "%C3%BC", "a%3Bb", "%E2%80%A6"}
	for i := range want {
		if want[i] = "/base/v1/machines/" + want[i] + "/stop"; i >= len(paths) || paths[i] != want[i] {
			t.Errorf("sent %q, want %q", paths, want)
			break
		}
	}
}

func TestEveryOperationCancelled(t *testing.T) {
	s := serve(t, answers{})
	b := s.backend()
	for _, op := range everything {
		if err := op.do(cancelled(t), b, id); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op.name, err)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if err := op.do(ctx, b, id); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
			t.Errorf("%s: %v, which does not tell the cause", op.name, err)
		}
	}
}

// TestEveryOperationEndsWithItsContext cancels while the service thinks.
func TestEveryOperationEndsWithItsContext(t *testing.T) {
	arrived := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then a server does not notice that its caller is gone
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	b := (&server{t: t, url: srv.URL}).backend()
	for _, op := range everything {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		if err := op.do(ctx, b, id); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op.name, err)
		}
		cancel()
	}
}

// TestTableOfOperations: each request that can be made is a row of the table, each row has its request, and a reason.
func TestTableOfOperations(t *testing.T) {
	var mu sync.Mutex
	used := map[string]bool{}
	path := regexp.MustCompile(`^/v1/machines/` + id)
	file := regexp.MustCompile(`/files/.*$`)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		at := file.ReplaceAllString(path.ReplaceAllString(r.URL.Path, "/v1/machines/{id}"), "/files/{path}")
		used[r.Method+" "+at] = true
		if strings.HasSuffix(at, "/branches") {
			w.WriteHeader(http.StatusNotFound) // so that the older route is tried
			return
		}
		says(machine("stopped"))(w, r)
	}))
	defer srv.Close()
	b := (&server{t: t, url: srv.URL}).backend()
	for _, op := range everything {
		_ = op.do(t.Context(), b, id) // the answers are nonsense to most
	}
	for _, row := range cloud.Table() {
		key := row.Method + " " + row.Path
		if !used[key] {
			t.Errorf("nothing sends %s", key)
		}
		delete(used, key)
		if row.Name == "" || row.Reason == "" {
			t.Errorf("%s has no name or no reason", key)
		}
		if again := row.Policy == "question"; again != (row.Method == http.MethodGet) {
			t.Errorf("%s has the policy %q", key, row.Policy)
		}
		if row.Policy == "idempotent" && row.Name != "stop" && row.Name != "delete" {
			t.Errorf("%s has the policy %q", key, row.Policy)
		}
	}
	for key := range used {
		t.Errorf("%s is sent and not in the table", key)
	}
}
