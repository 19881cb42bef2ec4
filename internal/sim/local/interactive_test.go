package local_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// terminal opens a WebSocket to the machine.
func (r *rig) terminal(ctx context.Context, path string) *websocket.Conn {
	r.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, r.socket)
	}
	c, resp, err := websocket.Dial(ctx, "ws://localhost"+path, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}},
	})
	if err != nil {
		r.t.Fatal(resp, err)
	}
	r.t.Cleanup(func() { c.CloseNow() })
	return c
}

func TestInteractive(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"m"}`) // the session starts it
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := r.terminal(ctx, api+"/m/exec/interactive?cmd=tty&cols=100&rows=30")
	read := func(kind websocket.MessageType, want string) {
		t.Helper()
		got := ""
		for len(got) < len(want) {
			k, b, err := c.Read(ctx)
			if err != nil || k != kind {
				t.Fatalf("read %v %q, %v after %q", k, b, err, got)
			}
			got += string(b)
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	write := func(kind websocket.MessageType, text string) {
		t.Helper()
		if err := c.Write(ctx, kind, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	read(websocket.MessageBinary, "30x100\n")
	write(websocket.MessageBinary, "bytes ")
	read(websocket.MessageBinary, "bytes ")
	write(websocket.MessageText, `{"type":"stdin","data":"json "}`)
	read(websocket.MessageBinary, "json ")
	write(websocket.MessageText, `{"type":"other"}`)
	read(websocket.MessageBinary, `{"type":"other"}`)
	write(websocket.MessageText, "text ")
	read(websocket.MessageBinary, "text ")
	write(websocket.MessageText, `{"type":"resize","cols":5,"rows":6}`)
	write(websocket.MessageBinary, "") // the end of the input
	read(websocket.MessageBinary, "\x04\x04")
	read(websocket.MessageText, `{"type":"exit","code":7}`)
	if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("closed with %v", err)
	}
}

func TestInteractiveDisconnectKills(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	c := r.terminal(context.Background(), api+"/m/exec/interactive?cmd=sleep")
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	c.CloseNow()
	eventually(t, "the command is killed", func() bool { return r.guest.sleepers() == 0 })
}

func TestInteractiveNotFound(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	c := r.terminal(context.Background(), api+"/m/exec/interactive?cmd=nope")
	if _, b, err := c.Read(context.Background()); err != nil || string(b) != `{"type":"exit","code":-1}` {
		t.Errorf("got %q, %v", b, err)
	}
}

// A terminal whose command does not read holds one connection and ends with its server.
func TestInteractiveEndsWithServer(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	c := r.terminal(context.Background(), api+"/m/exec/interactive?cmd=sleep")
	for range 100 {
		if err := c.Write(context.Background(), websocket.MessageBinary, make([]byte, 10<<10)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	r.down()
	if n := r.guest.sleepers(); n != 0 {
		t.Errorf("%d commands have survived", n)
	}
	r.up()
}

func TestInteractiveRefusals(t *testing.T) {
	r := newRig(t, local.Options{})
	const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	const key, version = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "Sec-WebSocket-Version: 13\r\n"
	for _, tt := range []struct {
		name, query, headers string
		status               int
		text                 string
	}{
		{"query first", "?cols=x", "", 400, "Failed to deserialize query string: cols: invalid digit found in string"},
		{"too wide", "?cols=65536", upgrade + key + version, 400, "Failed to deserialize query string: cols: number too large to fit in target type"},
		{"no upgrade", "", "", 400, "Connection header did not include 'upgrade'"},
		{"other upgrade", "", "Connection: Upgrade\r\nUpgrade: h2c\r\n", 400, "`Upgrade` header did not include 'websocket'"},
		{"no key", "", upgrade + version, 400, "`Sec-WebSocket-Key` header missing"},
		{"other version", "", upgrade + key + "Sec-WebSocket-Version: 8\r\n", 400, "`Sec-WebSocket-Version` header did not include '13'"},
		{"unknown machine", "", upgrade + key + version, 404, `{"error":"machine 'm' not found","code":"NOT_FOUND"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := r.dial()
			defer c.Close()
			c.send("GET " + api + "/m/exec/interactive" + tt.query + " HTTP/1.1\r\nHost: x\r\n" + tt.headers + "\r\n")
			if a := c.response("GET"); a.status != tt.status || a.body != tt.text {
				t.Errorf("answered %d %s", a.status, a.body)
			}
		})
	}
}
