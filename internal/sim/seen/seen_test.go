package seen_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/sim/seen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, l *seen.Log, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(l.Wrap(h))
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, method, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLog(t *testing.T) {
	var l seen.Log
	s := serve(t, &l, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, "four")
	})
	get(t, "GET", s.URL+"/a%2Fb/c?x=1&access_token=secret&y")
	get(t, "POST", s.URL+"/a/c")
	want := []seen.Request{
		{Method: "GET", Path: "/a%2Fb/c", Query: "x=1&access_token=&y", Status: 200, Sent: 4},
		{Method: "POST", Path: "/a/c", Status: 418, Sent: 4},
	}
	if diff := cmp.Diff(want, l.All()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		method, pattern string
		want            int
	}{{"", "/*/c", 2}, {"GET", "/*/c", 1}, {"", "/a/*", 1}, {"", "/*", 0}, {"", "", 2}, {"POST", "", 1}, {"", "[", 0}, {"PUT", "/*/c", 0}} {
		if n := l.Count(tt.method, tt.pattern); n != tt.want {
			t.Errorf("Count(%q, %q) = %d, want %d", tt.method, tt.pattern, n, tt.want)
		}
	}
	if l.Forget(); len(l.All()) != 0 {
		t.Error("something is remembered")
	}
}

// A file is sent whole and counted, whichever way it takes to the socket.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	text := strings.Repeat("0123456789", 100000)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var l seen.Log
	s := serve(t, &l, func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		_, _ = io.CopyN(w, f, int64(len(text)))
	})
	if got := get(t, "GET", s.URL+"/f"); got != text {
		t.Errorf("%d bytes came", len(got))
	}
	s.Close() // the handler has returned then
	if q := l.All()[0]; q.Status != 200 || q.Sent != int64(len(text)) {
		t.Errorf("%+v", q)
	}
}

// Of very many requests the newest are kept.
func TestMany(t *testing.T) {
	var l seen.Log
	for range 10001 {
		l.Note(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/old", http.NoBody))
	}
	l.Note(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/new", http.NoBody))
	all := l.All()
	if n := len(all); n > 10000 || all[n-1].Path != "/new" {
		t.Errorf("%d kept, the last %+v", n, all[n-1])
	}
}
