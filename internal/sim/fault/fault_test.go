package fault_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/sim/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a handler that counts what it is asked to do, behind an injector, on a raw socket.
type service struct {
	inj  *fault.Injector
	work atomic.Int32
	addr string
	srv  *httptest.Server
}

func newService(t *testing.T) *service {
	s := &service{inj: fault.New()}
	s.srv = httptest.NewServer(s.inj.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.work.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "17")
		_, _ = io.WriteString(w, `{"answer":"full"}`)
	})))
	s.addr = s.srv.Listener.Addr().String()
	t.Cleanup(func() {
		s.inj.Close()
		s.srv.Close()
	})
	return s
}

// send writes a request and returns what came until the connection closed.
func (s *service) send(t *testing.T, method, path string) string {
	t.Helper()
	c := s.open(t, method, path)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	b, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

func (s *service) open(t *testing.T, method, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody", method, path)
	return c
}

// split returns the status line and the body.
func split(t *testing.T, raw string) (status, body string) {
	t.Helper()
	head, body, ok := strings.Cut(raw, "\r\n\r\n")
	if !ok {
		t.Fatalf("no reply in %q", raw)
	}
	status, _, _ = strings.Cut(head, "\r\n")
	return status, body
}

const whole = `{"answer":"full"}`

func TestActions(t *testing.T) {
	garbled := []byte(whole)
	for i := range garbled {
		garbled[i] ^= 0xA5
	}
	for _, tt := range []struct {
		name         string
		fault        fault.Fault
		status, body string // empty status: not a byte came
		work         int32
	}{
		{"pass", fault.Fault{}, "HTTP/1.1 200 OK", whole, 1},
		{"pass with the work", fault.Fault{Work: true}, "HTTP/1.1 200 OK", whole, 1},
		{"cut with the work", fault.Fault{Action: fault.Cut, After: 10, Work: true}, "HTTP/1.1 200 OK", whole[:10], 1},
		{"lose reply with the work", fault.Fault{Action: fault.LoseReply, Work: true}, "", "", 1},
		{"delay", fault.Fault{Delay: 30 * time.Millisecond}, "HTTP/1.1 200 OK", whole, 1},
		{"fail", fault.Fault{Action: fault.Fail, Status: 503, ContentType: "text/html", Body: "<h1>no</h1>"}, "HTTP/1.1 503 Service Unavailable", "<h1>no</h1>", 0},
		{"fail by default", fault.Fault{Action: fault.Fail}, "HTTP/1.1 500 Internal Server Error", "", 0},
		{"fail after the work", fault.Fault{Action: fault.Fail, Status: 408, Work: true}, "HTTP/1.1 408 Request Timeout", "", 1},
		{"lose reply", fault.Fault{Action: fault.LoseReply}, "", "", 1},
		{"cut at once", fault.Fault{Action: fault.Cut}, "HTTP/1.1 200 OK", "", 1},
		{"cut", fault.Fault{Action: fault.Cut, After: 10}, "HTTP/1.1 200 OK", whole[:10], 1},
		{"cut beyond the end", fault.Fault{Action: fault.Cut, After: 100}, "HTTP/1.1 200 OK", whole, 1},
		{"garble", fault.Fault{Action: fault.Garble}, "HTTP/1.1 200 OK", string(garbled), 1},
		{"restart", fault.Fault{Action: fault.Restart}, "", "", 0},
		{"restart after the work", fault.Fault{Action: fault.Restart, Work: true}, "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t)
			armed := s.inj.Add(tt.fault)
			raw := s.send(t, "POST", "/a/b")
			if tt.status == "" {
				if raw != "" {
					t.Errorf("got %q, want nothing", raw)
				}
			} else if status, body := split(t, raw); status != tt.status || body != tt.body {
				t.Errorf("got %s with %q, want %s with %q", status, body, tt.status, tt.body)
			}
			if n := s.work.Load(); n != tt.work {
				t.Errorf("the handler was called %d times, want %d", n, tt.work)
			}
			if armed.Fired() != 1 || s.inj.Fired() != 1 {
				t.Errorf("fired %d times, %d in all, want 1", armed.Fired(), s.inj.Fired())
			}
		})
	}
}

func TestFailSendsHeader(t *testing.T) {
	s := newService(t)
	s.inj.Add(fault.Fault{Action: fault.Fail, Status: 429, Header: http.Header{"Retry-After": {"2"}, "Content-Type": {"not/this"}}})
	if raw := s.send(t, "GET", "/"); !strings.Contains(raw, "Retry-After: 2\r\n") || strings.Contains(raw, "Content-Type") {
		t.Errorf("got %q", raw)
	}
}

func TestFailSendsContentType(t *testing.T) {
	s := newService(t)
	s.inj.Add(fault.Fault{Action: fault.Fail, Status: 502, ContentType: "text/html", Body: "x"})
	if raw := s.send(t, "GET", "/"); !strings.Contains(raw, "Content-Type: text/html\r\n") {
		t.Errorf("got %q", raw)
	}
	s.inj.Reset()
	s.inj.Add(fault.Fault{Action: fault.Fail, Status: 502, Body: "x"})
	if raw := s.send(t, "GET", "/"); strings.Contains(raw, "Content-Type") {
		t.Errorf("a content type that was not asked for: %q", raw)
	}
}

func TestMatching(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault fault.Fault
		// hit tells which of the requests fail.
		requests, hit string
	}{
		{"all", fault.Fault{}, "GET /a,POST /b/c", "11"},
		{"method", fault.Fault{Method: "POST"}, "GET /a,POST /a,HEAD /a", "010"},
		{"segment", fault.Fault{Path: "/m/*/exec"}, "GET /m/x/exec,GET /m/exec,GET /m/x/exec/stream,GET /m/x%2Fy/exec", "1001"},
		{"part", fault.Fault{Path: "exec"}, "GET /m/x/exec,GET /m/x/exec/stream,GET /m/x", "110"},
		{"malformed", fault.Fault{Path: "/["}, "GET /[,GET /a", "00"},
		{"nth", fault.Fault{Path: "/a", Nth: 2}, "GET /a,GET /b,GET /a,GET /a", "0010"},
		{"nth on", fault.Fault{Nth: 2, Times: 2}, "GET /a,GET /a,GET /a,GET /a", "0110"},
		{"first few", fault.Fault{Times: 2}, "GET /a,GET /a,GET /a", "110"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t)
			f := tt.fault
			f.Action, f.Status = fault.Fail, 599
			armed := s.inj.Add(f)
			got, fired := "", 0
			for r := range strings.SplitSeq(tt.requests, ",") {
				method, path, _ := strings.Cut(r, " ")
				if status, _ := split(t, s.send(t, method, path)); strings.HasPrefix(status, "HTTP/1.1 599") {
					got += "1"
					fired++
				} else {
					got += "0"
				}
			}
			if got != tt.hit {
				t.Errorf("hit %s, want %s", got, tt.hit)
			}
			if armed.Fired() != fired {
				t.Errorf("Fired is %d, want %d", armed.Fired(), fired)
			}
		})
	}
}

func TestFirstFaultWins(t *testing.T) {
	s := newService(t)
	first := s.inj.Add(fault.Fault{Action: fault.Fail, Status: 501, Nth: 2})
	second := s.inj.Add(fault.Fault{Action: fault.Fail, Status: 502})
	var got []string
	for range 3 {
		status, _ := split(t, s.send(t, "GET", "/"))
		got = append(got, strings.Fields(status)[1])
	}
	if s := strings.Join(got, " "); s != "502 501 502" {
		t.Errorf("statuses %s", s)
	}
	if first.Seen() != 3 || second.Seen() != 3 || first.Fired() != 1 || second.Fired() != 2 {
		t.Errorf("seen %d and %d, fired %d and %d", first.Seen(), second.Seen(), first.Fired(), second.Fired())
	}
	s.inj.Reset()
	if status, _ := split(t, s.send(t, "GET", "/")); status != "HTTP/1.1 200 OK" {
		t.Errorf("after Reset: %s", status)
	}
}

// A request that hangs ends when its client goes, and when the injector closes.
func TestHang(t *testing.T) {
	s := newService(t)
	armed := s.inj.Add(fault.Fault{Action: fault.Hang})
	gone := s.open(t, "POST", "/x")
	waitFor(t, func() bool { return armed.Fired() == 1 })
	gone.Close()

	stays := s.open(t, "POST", "/x")
	defer stays.Close()
	waitFor(t, func() bool { return armed.Fired() == 2 })
	_ = stays.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := stays.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("read %d, %v: something was answered", n, err)
	}
	s.inj.Close()
	_ = stays.SetReadDeadline(time.Now().Add(10 * time.Second))
	if b, err := io.ReadAll(stays); err != nil || len(b) > 0 {
		t.Errorf("after Close: %q, %v", b, err)
	}
	if s.work.Load() != 0 {
		t.Error("the handler was called")
	}
}

func TestDelayEndsWithInjector(t *testing.T) {
	s := newService(t)
	armed := s.inj.Add(fault.Fault{Delay: time.Hour})
	c := s.open(t, "GET", "/")
	defer c.Close()
	waitFor(t, func() bool { return armed.Fired() == 1 })
	s.inj.Close()
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
		t.Errorf("got %q, %v", b, err)
	}
}

// A delay ends with its client, also when the request has a body, which comes whole to a client that stays.
func TestDelayOfBodies(t *testing.T) {
	got := make(chan string, 1)
	inj := fault.New()
	srv := httptest.NewServer(inj.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		got <- fmt.Sprint(len(b), err)
	})))
	defer srv.Close()
	defer inj.Close()
	gone := inj.Add(fault.Fault{Path: "/gone", Delay: time.Hour})
	inj.Add(fault.Fault{Delay: time.Millisecond})
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "POST /gone HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	waitFor(t, func() bool { return gone.Fired() == 1 })
	c.Close()
	srv.Config.SetKeepAlivesEnabled(false)
	for _, size := range []int{0, 2, 5 << 20} {
		resp, err := srv.Client().Post(srv.URL, "", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if text := <-got; text != fmt.Sprint(size, error(nil)) {
			t.Errorf("%d bytes arrive as %s", size, text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := srv.Config.Shutdown(ctx); err != nil { // waits for the request whose client went
		t.Errorf("the delay goes on without its client: %v", err)
	}
}

func TestRestartCalls(t *testing.T) {
	s := newService(t)
	called := make(chan struct{})
	s.inj.Add(fault.Fault{Action: fault.Restart, Call: func() { close(called) }})
	if raw := s.send(t, "POST", "/"); raw != "" {
		t.Errorf("got %q", raw)
	}
	s.inj.Close() // waits for the call
	select {
	case <-called:
	default:
		t.Error("Close returned before the call did")
	}
}

// An event stream is cut where the fault says, however it was written.
func TestCutStream(t *testing.T) {
	inj := fault.New()
	srv := httptest.NewServer(inj.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, "data: x\n\n"); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
		}
	})))
	defer srv.Close()
	defer inj.Close()
	inj.Add(fault.Fault{Action: fault.Cut, After: 25})
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != io.ErrUnexpectedEOF || string(b) != "data: x\n\ndata: x\n\ndata: x" {
		t.Errorf("got %q and %v", b, err)
	}
}

func TestActionString(t *testing.T) {
	if got := fault.LoseReply.String() + ", " + fault.Action(99).String(); got != "lose reply, unknown action" {
		t.Error(got)
	}
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !f() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal("not in 10 s")
		}
	}
}
