package wiretest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/wiretest"
)

// echo is a service that answers what the tests of the machinery need.
type echo struct {
	*wiretest.Run
	server *httptest.Server
	acted  []string
}

func (e *echo) Directive(d []string) error {
	if d[0] != "known" {
		return wiretest.ErrUnknown
	}
	return nil
}

func (e *echo) Start() error {
	e.server = httptest.NewServer(http.HandlerFunc(e.serve))
	return nil
}

func (e *echo) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Key", r.Header.Get("Authorization"))
	switch r.URL.Path {
	case "/json":
		w.Header().Set("Content-Type", "application/problem+json")
		fmt.Fprint(w, `{"id":"mach-1","token":"t-1","n":1,"list":[{"n":7}]}`)
	case "/stream":
		fmt.Fprint(w, "one\n")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "two\n")
	case "/echo":
		_, _ = io.Copy(w, r.Body)
	default:
		http.NotFound(w, r)
	}
}

func (e *echo) Dial() (net.Conn, error) { return net.Dial("tcp", e.server.Listener.Addr().String()) }

func (e *echo) Headers() [][2]string { return [][2]string{{"authorization", "Bearer k"}} }

func (e *echo) Act(words []string) error {
	e.acted = append(e.acted, strings.Join(words, " "))
	if words[0] == "await" {
		return e.Await(words[1], `{"n":1,"...":"..."}`)
	}
	return wiretest.ErrUnknown
}

func (e *echo) Check(_ string, a *wiretest.Answer) error {
	if a.Header("date") == "" {
		return errors.New("no date")
	}
	return nil
}

func (e *echo) Stop() { e.server.Close() }

func TestReplay(t *testing.T) {
	suite := &wiretest.Suite{New: func(r *wiretest.Run) wiretest.Service { return &echo{Run: r} }}
	const head = "# §1: a fact.\nknown\n"
	get := func(path, reply string) string {
		return "-- request --\nGET " + path + " HTTP/1.1\n-- reply --\n" + reply
	}
	for _, r := range []struct {
		name, src string
		want      string // in the error; "" for none
	}{
		{"what is so", get("/json", "HTTP/1.1 200\nx-key: Bearer k\n!x-other\n\n{\"id\":\"{{any}}\",\"...\":\"...\"}\n"), ""},
		{"another status", get("/json", "HTTP/1.1 404\n"), "status 200, want 404"},
		{"any status of a class", get("/none", "HTTP/1.1 4xx\n"), ""},
		{"a status of another class", get("/none", "HTTP/1.1 5xx\n"), "status 404, want 5xx"},
		{"another header", get("/json", "HTTP/1.1 200\nx-key: Bearer j\n"), "header x-key"},
		{"a header that is missing", get("/json", "HTTP/1.1 200\nx-other: a\n"), "header x-other"},
		{"a header too many", get("/json", "HTTP/1.1 200\n!x-key\n"), "there is a header x-key"},
		{"another body", get("/json", "HTTP/1.1 200\n\n{\"id\":\"mach-2\",\"...\":\"...\"}\n"), "$.id"},
		{"a body where there is none to be", get("/json", "HTTP/1.1 200\n\n\n"), "transcript's JSON"},
		{"text", get("/none", "HTTP/1.1 404\n\n404 page not found\n\n"), ""},
		{"other text", get("/none", "HTTP/1.1 404\n\n404 page found\n\n"), "want"},
		{"a set-up that keeps two members", "-- setup --\nm = GET /json\nt.token = GET /json\nn.list.0.n = GET /json\n-- request --\nPOST /echo HTTP/1.1\n\n{{m}} {{t}} {{n}}\n-- reply --\nHTTP/1.1 200\n\nmach-1 t-1 7\n", ""},
		{"a set-up with JSON", "-- setup --\nPOST /echo {\"a\": 1}\n", ""},
		{"a set-up that fails", "-- setup --\nGET /none\n", "status 404, want 2xx"},
		{"a set-up without that member", "-- setup --\nm.name = GET /json\n", "neither text nor number at name"},
		{"a set-up without that place", "-- setup --\nm.list.1.n = GET /json\n", "neither text nor number at list.1.n"},
		{"a set-up with an object", "-- setup --\nm.list.0 = GET /json\n", "neither text nor number at list.0"},
		{"a stream", "-- open 2 --\nGET /stream HTTP/1.1\n-- reply --\nHTTP/1.1 200\n\none\n-- more --\none\ntwo\n-- do --\nhang-up\n", ""},
		{"a stream that says another thing", "-- open --\nGET /stream HTTP/1.1\n-- reply --\nHTTP/1.1 200\n\none\nthree\n", "want"},
		{"more of nothing", "-- more --\nx\n", "nothing is open"},
		{"an action", "-- do --\nawait /json\n", ""},
		{"an action that is not known", "-- do --\nfly\n", "no such directive or action"},
		{"an abandoned request", "-- abandon --\nPOST /echo HTTP/1.1\ncontent-length: 5\n\nab\n" + get("/json", "HTTP/1.1 200\n"), ""},
		{"a place in {{tmp}}", "-- do --\nremove x\n", ""},
		{"a bad placeholder", "-- request --\nGET /{{hex:0}} HTTP/1.1\n-- reply --\nHTTP/1.1 200\n", "hex"},
	} {
		t.Run(r.name, func(t *testing.T) {
			err := wiretest.ReplayOne(suite, t, head+"file x\ndir y\nbusy\n"+r.src)
			if r.want == "" && err != nil {
				t.Error(err)
			}
			if r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want)) {
				t.Errorf("error %v, want one with %q", err, r.want)
			}
		})
	}
}

func TestSetOption(t *testing.T) {
	type plan struct{ Max int }
	type options struct {
		Yes    bool
		Count  int
		Wait   time.Duration
		Name   string
		Plan   *plan
		Old    struct{ NoUser bool }
		List   []string
		Number *int
		F      func()
		hidden int
	}
	var o options
	for _, s := range [][2]string{
		{"Yes", "true"}, {"Count", "-3"}, {"Wait", "1m30s"}, {"Name", "x"}, {"Plan.Max", "2"}, {"Old.NoUser", "true"}, {"List", "a,b"}, {"Number", "9"},
	} {
		if err := wiretest.SetOption(&o, s[0], s[1]); err != nil {
			t.Error(err)
		}
	}
	if !o.Yes || o.Count != -3 || o.Wait != 90*time.Second || o.Name != "x" || o.Plan.Max != 2 || !o.Old.NoUser || len(o.List) != 2 || *o.Number != 9 || o.hidden != 0 {
		t.Errorf("%+v", o)
	}
	for _, s := range [][2]string{
		{"No", "1"}, {"hidden", "1"}, {"Name.More", "1"}, {"Yes", "maybe"}, {"Count", "x"}, {"Wait", "soon"}, {"F", "x"}, {"Number", "x"},
	} {
		if err := wiretest.SetOption(&o, s[0], s[1]); err == nil {
			t.Errorf("%s=%s is taken", s[0], s[1])
		}
	}
}
