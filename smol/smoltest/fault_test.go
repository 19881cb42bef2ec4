package smoltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// raw sends one request without the library.
func raw(ctx context.Context, l *smoltest.Local, method, path, body string) (status int, reply string, err error) {
	url, transport := l.URL(), &http.Transport{DisableKeepAlives: true}
	if socket, ok := strings.CutPrefix(url, "unix://"); ok {
		url = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestFaults(t *testing.T) {
	const path, name = "/api/v1/machines", `{"name":"m"}`
	rows := []struct {
		what   string
		fault  smoltest.Fault
		status int    // 0: no reply, or half a one
		reply  string // part of it
		exists bool   // the machine, afterwards
	}{
		{"pass", smoltest.Fault{Delay: 10 * time.Millisecond}, 200, `"name":"m"`, true},
		{"fail", smoltest.Fault{Action: smoltest.Fail, Status: 503, Body: "<h1>no</h1>", ContentType: "text/html"}, 503, "<h1>no</h1>", false},
		{"fail without a status", smoltest.Fault{Action: smoltest.Fail}, 500, "", false},
		{"work, then fail", smoltest.Fault{Action: smoltest.Fail, Status: 408, Work: true}, 408, "", true},
		{"lose the reply", smoltest.Fault{Action: smoltest.LoseReply}, 0, "", true},
		{"cut", smoltest.Fault{Action: smoltest.Cut, After: 5}, 0, `{"nam`, true},
		{"garble", smoltest.Fault{Action: smoltest.Garble}, 200, "", true},
		{"restart", smoltest.Fault{Action: smoltest.Restart}, 0, "", false},
		{"work, then restart", smoltest.Fault{Action: smoltest.Restart, Work: true}, 0, "", true},
		{"hang", smoltest.Fault{Action: smoltest.Hang}, 0, "", false},
	}
	for _, r := range rows {
		t.Run(r.what, func(t *testing.T) {
			r.fault.Method, r.fault.Path = "POST", path
			l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil), Faults: []smoltest.Fault{r.fault}})
			ctx := t.Context()
			if r.fault.Action == smoltest.Hang {
				ctx = shortly(t)
			}
			status, reply, err := raw(ctx, l, "POST", path, name)
			if err != nil {
				status = 0
			}
			if status != r.status || !strings.Contains(reply, r.reply) {
				t.Errorf("%d, %q, %v; want %d, %q", status, reply, err, r.status, r.reply)
			}
			if n := l.Count("POST", path); n != 1 {
				t.Errorf("%d requests were counted", n)
			}
			l.ClearFaults()
			status, _, err = eventually(t, l, path+"/m")
			if err != nil || (status == 200) != r.exists {
				t.Errorf("afterwards the machine is answered with %d, %v", status, err)
			}
			if status == 200 {
				if _, _, err := raw(t.Context(), l, "DELETE", path+"/m", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// eventually asks until somebody listens again.
func eventually(t *testing.T, l *smoltest.Local, path string) (status int, reply string, err error) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		status, reply, err = raw(t.Context(), l, "GET", path, "")
		if err == nil || time.Now().After(deadline) {
			return status, reply, err
		}
	}
}

func TestFaultCounts(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	second := l.Fault(smoltest.Fault{Path: "/health", Nth: 2, Action: smoltest.Fail, Status: 503})
	l.Fault(smoltest.Fault{Path: "ready", Times: 1, Action: smoltest.Fail, Status: 504})
	var got []int
	for _, path := range []string{"/health", "/readyz", "/health", "/health", "/readyz"} {
		status, _, err := raw(t.Context(), l, "GET", path, "")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{200, 504, 503, 200, 200}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if second.Fired() != 1 {
		t.Errorf("fired %d times", second.Fired())
	}
	l.Fault(smoltest.Fault{Action: smoltest.Fail, Status: 599})
	l.Restart()
	if status, _, err := raw(t.Context(), l, "GET", "/health", ""); status != 599 || err != nil {
		t.Errorf("after a restart the fault is gone: %d, %v", status, err)
	}
}

func TestRequests(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	l.Fault(smoltest.Fault{Path: "/readyz", Action: smoltest.Fail, Status: 503, Body: "busy"})
	for _, r := range [][2]string{{"GET", "/health?x=1"}, {"GET", "/readyz"}, {"POST", "/api/v1/machines/a%2Fb/start"}} {
		if _, _, err := raw(t.Context(), l, r[0], r[1], ""); err != nil {
			t.Fatal(err)
		}
	}
	l.Restart()
	got := l.Requests()
	for n := range got {
		if got[n].Status == 200 || got[n].Status == 404 {
			got[n].Sent = 0 // as long as it is
		}
	}
	want := []smoltest.Request{
		{Method: "GET", Path: "/health", Query: "x=1", Status: 200},
		{Method: "GET", Path: "/readyz", Status: 503, Sent: 4},
		{Method: "POST", Path: "/api/v1/machines/a%2Fb/start", Status: 404},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	counts := map[[2]string]int{
		{"GET", "/health"}: 1, {"POST", "/health"}: 0, {"", "/*"}: 2, {"", ""}: 3, {"POST", "/api/v1/machines/*/start"}: 1,
		{"", "/api/v1/machines/*"}: 0, {"", "["}: 0,
	}
	for q, want := range counts {
		if n := l.Count(q[0], q[1]); n != want {
			t.Errorf("Count(%q, %q) is %d, want %d", q[0], q[1], n, want)
		}
	}
	l.ForgetRequests()
	if n := l.Count("", ""); n != 0 {
		t.Errorf("%d requests after they were forgotten", n)
	}
}

// TestNinthCallReboots sends nine commands at once, which a client of the library never does.
func TestNinthCallReboots(t *testing.T) {
	started := make(chan struct{}, 16)
	l := smoltest.NewLocal(t, &smoltest.Options{
		Probe: 100 * time.Millisecond,
		Guest: smoltest.Script(func(ctx context.Context, c *smoltest.Call) int {
			if c.Argv[0] == "sleep" {
				started <- struct{}{}
				<-ctx.Done()
			}
			return 0
		}),
	})
	create(t, l, smol.Spec{Name: "m"})
	var wg sync.WaitGroup
	exec := func(argv string) {
		wg.Go(func() {
			status, reply, err := raw(t.Context(), l, "POST", "/api/v1/machines/m/exec", `{"command":["`+argv+`"]}`)
			if argv == "true" && (err != nil || status != 200) {
				t.Errorf("the ninth call: %d, %s, %v", status, reply, err)
			}
		})
	}
	for range 8 {
		exec("sleep")
	}
	for range 8 {
		<-started
	}
	if n := l.Reboots("m"); n != 0 {
		t.Errorf("%d reboots after eight calls", n)
	}
	exec("true")
	wg.Wait()
	l.Restart()
	if n := l.Reboots("m"); n != 1 {
		t.Errorf("%d reboots after nine calls", n)
	}
	if n := l.Reboots("nobody"); n != 0 {
		t.Errorf("%d reboots of a machine that is not there", n)
	}
}

// TestNothingIsSentTwice loses the reply of a start of a command: the command has run once.
func TestNothingIsSentTwice(t *testing.T) {
	var mu sync.Mutex
	runs := 0
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] == "count" {
			mu.Lock()
			defer mu.Unlock()
			runs++
			fmt.Fprintln(c.Stdout, "counted", runs)
		}
		return 0
	})})
	m := create(t, l, smol.Spec{Name: "m"})
	l.Fault(smoltest.Fault{Path: "/api/v1/machines/m/exec", Nth: 1, Action: smoltest.LoseReply})
	out, err := m.Command("count").Output(t.Context())
	if string(out) != "counted 1\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestTimeoutKnob(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(shell), Timeout: 50 * time.Millisecond})
	if _, _, err := raw(t.Context(), l, "POST", "/api/v1/machines", `{"name":"m"}`); err != nil {
		t.Fatal(err)
	}
	status, reply, err := raw(t.Context(), l, "POST", "/api/v1/machines/m/exec", `{"command":["sleep","1000"]}`)
	if status != 408 || reply != "" || err != nil {
		t.Errorf("a slow request: %d, %q, %v", status, reply, err)
	}
}

func TestActionNames(t *testing.T) {
	if got := fmt.Sprint(smoltest.LoseReply, " ", smoltest.Action(99)); got != "lose reply unknown action" {
		t.Error(got)
	}
}

// TestGarbledReply shows that garbage is an error of the library and no panic.
func TestGarbledReply(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	l.Fault(smoltest.Fault{Action: smoltest.Garble})
	_, err := l.Service(t).Health(t.Context())
	var syntax *json.SyntaxError
	if err == nil || errors.As(err, &syntax) && !strings.Contains(err.Error(), "smol:") {
		t.Errorf("a garbled reply: %v", err)
	}
}
