package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// listening is a machine in which something listens on port 80: the listener of a test.
type listening struct {
	sim.Instance
	to string
}

func (l *listening) Dial(ctx context.Context, port int) (net.Conn, error) {
	if port != 80 {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", l.to)
}

// web is a rig in whose machines a handler listens on port 80.
func web(t *testing.T, h http.HandlerFunc, change func(*cloud.Options)) *rig {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	inner := script.New(programs)
	g := &guestWith{Guest: inner, boot: func(ctx context.Context, b *sim.Boot) (sim.Instance, error) {
		in, err := inner.Boot(ctx, b)
		if err != nil {
			return nil, err
		}
		return &listening{in, s.Listener.Addr().String()}, nil
	}}
	return newRig(t, func(o *cloud.Options) {
		o.Guest = g
		if change != nil {
			change(o)
		}
	})
}

// tell says what it was asked.
func tell(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(io.LimitReader(r.Body, 99))
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("X-From", "guest")
	w.WriteHeader(http.StatusTeapot)
	fmt.Fprintf(w, "%s %s %s %q", r.Method, r.RequestURI, r.Header.Get("Authorization"), b)
}

func TestConnect(t *testing.T) {
	r := web(t, tell, nil)
	id := r.create(`,"ports":[{"port":80},{"port":81}]`)
	r.must(503, "GET", one(id, "/connect/80"), "")
	r.must(200, "POST", one(id, "/start"), "")
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/connect/80", "", "GET / Bearer " + testToken + ` ""`},
		{"GET", "/connect/80/", "", "GET / Bearer " + testToken + ` ""`},
		{"GET", "/connect/80/a%2Fb//c?x=1&y=%20", "", "GET /a%2Fb//c?x=1&y=%20 Bearer " + testToken + ` ""`},
		{"POST", "/connect/80/p", "body", "POST /p Bearer " + testToken + ` "body"`},
		{"DELETE", "/connect/80/p", "", "DELETE /p Bearer " + testToken + ` ""`},
	} {
		a, err := r.try(t.Context(), tt.method, one(id, tt.path), tt.body)
		if err != nil || a.status != http.StatusTeapot || a.body != tt.want || a.header.Get("X-From") != "guest" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %v, %v, want %s", tt.method, tt.path, a, err, tt.want)
		}
	}
	for path, status := range map[string]int{"/connect/82": 404, "/connect/080": 404, "/connect/x": 404, "/connect/81": 502, "/connect": 404} {
		if a := r.do("GET", one(id, path), ""); a.status != status {
			t.Errorf("%s: %s, want %d", path, a, status)
		}
	}
	large := io.LimitReader(zeros{}, 10<<20+1)
	res, err := r.send(t.Context(), "POST", one(id, "/connect/80"), large)
	if err == nil {
		res.Body.Close()
	}
	if err == nil && res.StatusCode != 413 {
		t.Errorf("%d for a body that is too large", res.StatusCode)
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestConnectGetOnly(t *testing.T) {
	r := web(t, tell, func(o *cloud.Options) { o.ConnectGetOnly = true })
	id := r.up(`,"ports":[{"port":80}]`)
	a := r.do("POST", one(id, "/connect/80/a"), "x")
	if a.status != 405 || a.header.Get("Allow") != "GET,HEAD" {
		t.Errorf("%s, %v", a, a.header)
	}
	for path, status := range map[string]int{"/connect/80": 418, "/connect/80/": 404, "/connect/80/a/": 418} {
		if a, err := r.try(t.Context(), "GET", one(id, path), ""); err != nil || a.status != status {
			t.Errorf("%s: %v, %v", path, a, err)
		}
	}
}

// A connect token opens the ports of its machine and of that one's branches, for as long as it lives, and nothing else.
func TestConnectToken(t *testing.T) {
	r := web(t, tell, func(o *cloud.Options) { o.Keys = []cloud.Key{{Token: "brief", Expires: r0.Add(100 * time.Second)}} })
	id := r.up(`,"name":"m","branchable":true,"ports":[{"port":80}]`)
	other := r.up(`,"ports":[{"port":80}]`)
	var child, grandchild machine
	r.must(201, "POST", one(id, "/branches"), `{"name":"b","branchable":true}`).json(t, &child)
	r.must(201, "POST", one(child.ID, "/branches"), `{"name":"c"}`).json(t, &grandchild)
	var tok struct {
		Token, MachineID string
		ExpiresAt        time.Time
	}
	r.must(201, "POST", one(id, "/connect-token"), `{"ttlSeconds":60}`).json(t, &tok)
	if tok.MachineID != id || !tok.ExpiresAt.Equal(r0.Add(time.Minute)) {
		t.Errorf("%+v", tok)
	}
	as := func(method, path string) int {
		t.Helper()
		a, err := r.try(t.Context(), method, path, `{"command":["echo"]}`, "Authorization", "Bearer "+tok.Token)
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	r.must(204, "DELETE", one(child.ID, ""), "") // its own branch is one of id all the same
	for path, status := range map[string]int{
		one(id, "/connect/80"): 418, one(grandchild.ID, "/connect/80/x"): 418, one(other, "/connect/80"): 404, one(id, ""): 401, "/v1/me": 401,
	} {
		if got := as("GET", path); got != status {
			t.Errorf("%s: %d, want %d", path, got, status)
		}
	}
	if got := as("POST", one(id, "/exec")); got != 401 {
		t.Errorf("a command: %d", got)
	}
	r.clock.Advance(time.Minute)
	if got := as("GET", one(id, "/connect/80")); got != 401 {
		t.Errorf("a token whose time is over: %d", got)
	}
	r.must(201, "POST", one(id, "/connect-token"), "", "Authorization", "Bearer brief").json(t, &tok)
	if !tok.ExpiresAt.Equal(r0.Add(100 * time.Second)) {
		t.Errorf("it outlives its key: %+v", tok)
	}
	for _, ttl := range []string{"59", "86401"} {
		r.must(422, "POST", one(id, "/connect-token"), `{"ttlSeconds":`+ttl+`}`)
	}
}

// upgrade asks for a WebSocket.
func (r *rig) upgrade(path string, o *websocket.DialOptions) (*websocket.Conn, *http.Response, error) {
	return websocket.Dial(context.Background(), r.url+path, o)
}

func keyed() *websocket.DialOptions {
	return &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + testToken}}}
}

// The bridge hands a WebSocket through, and one may have its token in the query.
func TestConnectWebSocket(t *testing.T) {
	r := web(t, func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		_ = ws.Write(r.Context(), websocket.MessageText, []byte(r.RequestURI))
		_, _, _ = ws.Read(r.Context())
	}, nil)
	id := r.up(`,"ports":[{"port":80}]`)
	ws, _, err := r.upgrade(one(id, "/connect/80/ws?a=1&access_token="+testToken), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	_, b, err := ws.Read(t.Context())
	if err != nil || string(b) != "/ws?a=1" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTunnel(t *testing.T) {
	r := web(t, tell, nil)
	id := r.up(`,"ports":[{"port":80},{"port":81}]`)
	for range rounds.N(20) { // the close frame must win each race
		ws, _, err := r.upgrade(one(id, "/tunnel/80"), keyed())
		if err != nil {
			t.Fatal(err)
		}
		conn := websocket.NetConn(t.Context(), ws, websocket.MessageBinary)
		defer conn.Close()
		fmt.Fprint(conn, "GET /x HTTP/1.0\r\n\r\n")
		if b, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(b), `GET /x  ""`) {
			t.Fatalf("%q, %v", b, err)
		}
	}
	for path, status := range map[string]int{"/tunnel/81": 502, "/tunnel/82": 404} {
		if _, res, err := r.upgrade(one(id, path), keyed()); err == nil || res == nil || res.StatusCode != status {
			t.Errorf("%s: %v, %v", path, res, err)
		}
	}
	for _, bad := range [][]string{
		{"Connection", "close"},
		{"Connection", "Upgrade", "Upgrade", "h2c"},
		{"Connection", "Upgrade", "Upgrade", "websocket"},
		{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Key", "x"},
	} {
		for _, path := range []string{"/tunnel/80", "/exec/interactive"} {
			if a := r.do("GET", one(id, path), "", bad...); a.status != 400 {
				t.Errorf("%s %q: %s", path, bad, a)
			}
		}
	}
}

// A tunnel ends with its machine.
func TestTunnelOfDyingMachine(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up(`,"ports":[{"port":80}]`)
	r.must(200, "POST", one(id, "/exec"), `{"command":["nc","-l","-p","80"],"background":true}`)
	r.until("somebody listens", func() bool {
		return r.s.Boots(id) == 1 && strings.Contains(r.exec(id, "cat", "/proc/net/tcp", "/proc/net/tcp6").Stdout, ":0050 ")
	})
	ws, _, err := r.upgrade(one(id, "/tunnel/80"), keyed())
	if err != nil {
		t.Fatal(err)
	}
	conn := websocket.NetConn(t.Context(), ws, websocket.MessageBinary)
	defer conn.Close()
	r.must(200, "POST", one(id, "/stop"), "")
	if b, err := io.ReadAll(conn); err != nil || len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTerminal(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.create(`,"env":{"A":"1"}`)
	ws, _, err := r.upgrade(one(id, "/exec/interactive?cols=91&rows=17&access_token="+testToken), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(t.Context(), websocket.MessageBinary, []byte("stty size; echo $A$TERM; exit 5\n")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for {
		kind, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatalf("%v after %q", err, out.String())
		}
		if kind == websocket.MessageText {
			if string(b) != `{"type":"exit","code":5}` {
				t.Errorf("%s", b)
			}
			break
		}
		out.Write(b)
	}
	if !strings.Contains(out.String(), "17 91") || !strings.Contains(out.String(), "1xterm-256color") {
		t.Errorf("%q", out.String())
	}
}

// Closing a terminal ends its program.
func TestTerminalClosed(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.up("")
	ws, _, err := r.upgrade(one(id, "/exec/interactive"), keyed())
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"stdin","data":"exec sleep 1000\n"}`)); err != nil {
		t.Fatal(err)
	}
	r.until("it runs", func() bool { return r.sleeps(id) })
	_ = ws.CloseNow()
	r.until("it is ended", func() bool { return !r.sleeps(id) })
}

func TestPorts(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(`,"name":"m","ports":[{"port":80},{"port":81}]`)
	if a := r.must(200, "PUT", one(id, "/ports"), `[{"port":80},{"port":82}]`); strings.Contains(a.body, `"hostPort":3`) {
		t.Errorf("a host port while it is stopped: %s", a)
	}
	r.must(200, "POST", one(id, "/start"), "")
	before := r.get(id).Ports
	r.must(200, "PUT", one(id, "/ports"), `{"ports":[{"port":90},{"port":82,"hostPort":1}]}`)
	after := r.get(id).Ports
	if len(after) != 2 || after[1].Port != 82 || *after[1].HostPort != *before[1].HostPort || *after[0].HostPort == *after[1].HostPort {
		t.Errorf("%+v, before %+v", after, before)
	}
	for body, status := range map[string]int{"": 400, "{": 400, "{}": 422, "[": 400, `[7]`: 422, `{"ports":[{"port":0}]}`: 422, `{"ports":[]}`: 200} {
		if a := r.do("PUT", one(id, "/ports"), body); a.status != status {
			t.Errorf("%s: %s", body, a)
		}
	}
	if m := r.get(id); len(m.Ports) != 0 || !m.Ready {
		t.Errorf("%+v", m)
	}
}

func TestLinks(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(`,"name":"m","ports":[{"port":80}]`)
	var a, b struct {
		Token string
		Links []struct {
			Port int
			URL  string
		}
	}
	r.must(200, "POST", one(id, "/port-links"), "").json(t, &a)
	r.must(200, "PUT", one(id, "/ports"), `[{"port":80},{"port":81}]`)
	r.must(200, "POST", one(id, "/port-links"), "").json(t, &b)
	if a.Token != b.Token || len(b.Links) != 2 || a.Links[0] != b.Links[0] || b.Links[1].URL != "https://p81-"+a.Token+".apps.smolmachines.com" {
		t.Errorf("%+v, %+v", a, b)
	}
	r.must(204, "DELETE", one(id, "/port-links"), "")
	if r.must(200, "POST", one(id, "/port-links"), "").json(t, &a); a.Token == b.Token {
		t.Error("a link that was revoked is back")
	}
	var s, again struct{ Token, URL string }
	r.must(200, "POST", one(id, "/share"), "").json(t, &s)
	r.must(200, "POST", one(id, "/share"), "").json(t, &again)
	if !strings.HasPrefix(s.Token, "msh_") || s.Token == again.Token || !strings.HasSuffix(s.URL, "?t="+s.Token) {
		t.Errorf("%+v, %+v", s, again)
	}
	r.must(204, "DELETE", one(id, "/share"), "")
	var nameless map[string]any
	r.must(200, "POST", one(r.create(`,"name":"A_b","ports":[{"port":80}]`), "/share"), "").json(t, &nameless)
	if _, has := nameless["url"]; has {
		t.Errorf("%v", nameless)
	}
}

func TestCredentials(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Keys = []cloud.Key{{Token: "other", Account: "other"}} })
	const good = `{"envVar":"API_KEY","hosts":["api.example.com"],"value":"very secret"}`
	for _, tt := range []struct {
		name, body string
		status     int
	}{
		{"key", good, 200},
		{"key", good, 200},
		{"Key", good, 400},
		{strings.Repeat("k", 65), good, 400},
		{"k%2Fk", good, 400},
		{"..", good, 400},
		{"key", `{"envVar":"1A","hosts":["a.b"],"value":"v"}`, 400},
		{"key", `{"envVar":"A","hosts":[],"value":"v"}`, 400},
		{"key", `{"envVar":"A","hosts":["*.example.com"],"value":"v"}`, 400},
		{"key", `{"envVar":"A","hosts":["10.0.0.1"],"value":"v"}`, 400},
		{"key", `{"envVar":"A","hosts":["a.b"],"value":""}`, 400},
		{"key", `{"envVar":"A","hosts":["a.b"]}`, 422},
	} {
		if a := r.do("PUT", "/v1/credentials/"+tt.name, tt.body); a.status != tt.status || strings.Contains(a.body, "very secret") {
			t.Errorf("%s %s: %s", tt.name, tt.body, a)
		}
	}
	id := r.create(`,"credentials":["key"]`)
	var o outcome
	r.must(200, "POST", one(id, "/exec"), `{"command":["env"]}`).json(t, &o)
	if !strings.Contains(o.Stdout, ";API_KEY=SMOL_PLACEHOLDER_") {
		t.Errorf("%s", o.Stdout)
	}
	r.must(200, "POST", one(id, "/stop"), "")
	r.restart()
	if a := r.must(200, "GET", "/v1/credentials", ""); !strings.Contains(a.body, `"name":"key","envVar":"API_KEY","hosts":["api.example.com"]`) {
		t.Errorf("%s", a)
	}
	if a := r.must(200, "GET", "/v1/credentials", "", "Authorization", "Bearer other"); a.body != "[]" {
		t.Errorf("%s", a)
	}
	r.must(404, "DELETE", "/v1/credentials/key", "", "Authorization", "Bearer other")
	r.must(204, "DELETE", "/v1/credentials/key", "")
	r.must(404, "DELETE", "/v1/credentials/key", "")
	if a := r.do("POST", one(id, "/start"), ""); a.status != 500 || !strings.Contains(a.body, "credential 'key' is not stored") {
		t.Errorf("%s", a)
	}
	r.must(200, "PUT", "/v1/credentials/key", good)
	r.must(200, "POST", one(id, "/start"), "")
}
