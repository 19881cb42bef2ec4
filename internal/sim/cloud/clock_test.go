package cloud_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// newReply keeps what a handler answers without a socket, newRequest is what it is asked.
func newReply() *memory { return &memory{header: http.Header{}} }

func newRequest(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer k")
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestFakeClock(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := cloud.NewFakeClock(start)
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, fmt.Sprint(name, " ", c.Now().Sub(start))) }
	}
	c.Every(3*time.Second, note("three"))
	stop := c.Every(2*time.Second, note("two"))
	c.Advance(6 * time.Second)
	c.Advance(-time.Hour)
	stop()
	stop()
	c.Advance(4 * time.Second)
	want := []string{"two 2s", "three 3s", "two 4s", "three 6s", "two 6s", "three 9s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if now := c.Now(); !now.Equal(start.Add(10 * time.Second)) {
		t.Errorf("it shows %v", now)
	}
}

// By the system's time a machine is swept every 15 seconds, and not any more once the server is closed.
func TestRealClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := cloud.New(&cloud.Options{Guest: script.New(nil), DataDir: dir, Token: "k"})
		if err != nil {
			t.Fatal(err)
		}
		status := func(method, path, body string) string {
			w := newReply()
			s.ServeHTTP(w, newRequest(t, method, path, body))
			return w.b.String()
		}
		id := status("POST", "/v1/machines", withSource(`,"ttlSeconds":40`))[len(`{"id":"`):][:37]
		time.Sleep(44 * time.Second)
		if got := status("GET", one(id, ""), ""); got[:len(`{"id":`)] != `{"id":` {
			t.Errorf("after 44 s: %s", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := status("GET", one(id, ""), ""); got[:len(`{"type":`)] != `{"type":` {
			t.Errorf("after 46 s: %s", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
