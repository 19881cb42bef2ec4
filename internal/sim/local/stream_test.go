package local_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

func TestStreamBytes(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machines()
	for _, tt := range []struct{ name, machine, body, want string }{
		{"newlines", "bare", `{"command":["write","a\\nb\\n"]}`, "event: stdout\ndata: a\ndata: b\ndata: \n\nevent: exit\ndata: {\"exitCode\":0}\n\n"},
		{"carriage returns", "bare", `{"command":["write","x\\r\\ny"]}`, "event: stdout\ndata: x\rdata: \ndata: y\n\nevent: exit\ndata: {\"exitCode\":0}\n\n"},
		{"bad bytes", "bare", `{"command":["write","a\\xff"]}`, "event: stdout\ndata: a\ufffd\n\nevent: exit\ndata: {\"exitCode\":0}\n\n"},
		{"exit code", "bare", `{"command":["false"]}`, "event: exit\ndata: {\"exitCode\":3}\n\n"},
		{"stdin and background are ignored", "bare", `{"command":["cat"],"stdin":"x","background":true,"timeoutSecs":0}`, "event: exit\ndata: {\"exitCode\":124}\n\n"},
		{"not found", "bare", `{"command":["nope"]}`, `event: error` + "\n" + `data: {"message":"Internal("agent operation failed: streaming exec: failed to spawn command: No such file or directory (os error 2)")"}` + "\n\n"},
		{"not found in a container", "image", `{"command":["nope"]}`, "event: stderr\ndata: executable file `nope` not found in $PATH: No such file or directory\ndata: \n\nevent: exit\ndata: {\"exitCode\":1}\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.do("POST", api+"/"+tt.machine+"/exec/stream", tt.body)
			if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" || a.header.Get("Cache-Control") != "no-cache" {
				t.Errorf("answered %d %v", a.status, a.header)
			}
			if a.body != tt.want {
				t.Errorf("got  %q\nwant %q", a.body, tt.want)
			}
		})
	}
}

// Output comes in pieces of at most 4096 bytes, and a character that lies across two is lost.
func TestStreamChunks(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	long := strings.Repeat("a", 4095) + "é" + strings.Repeat("b", 5000)
	a := r.do("POST", api+"/m/exec/stream", `{"command":["write","`+long+`"]}`)
	var sizes []int
	for ev := range strings.SplitSeq(strings.TrimSuffix(a.body, "\n\n"), "\n\n") {
		if data, ok := strings.CutPrefix(ev, "event: stdout\ndata: "); ok {
			sizes = append(sizes, len(strings.ReplaceAll(data, "\ufffd", "?")))
		}
	}
	if len(sizes) != 3 || sizes[0] != 4096 || sizes[1] != 4096 || sizes[2] != 4095+2+5000-8192 {
		t.Errorf("pieces of %v bytes", sizes)
	}
	if n := strings.Count(a.body, "\ufffd"); n != 2 {
		t.Errorf("%d replacement characters, want 2", n)
	}
}

func TestStreamLimit(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	a := r.do("POST", api+"/m/exec/stream", `{"command":["flood","12"]}`)
	const last = "event: error\ndata: {\"message\":\"streaming output exceeded 11534336 byte cap; exec terminated (output truncated)\"}\n\n"
	if !strings.HasSuffix(a.body, last) || strings.Contains(a.body, "event: exit") {
		t.Errorf("ends with %q", a.body[max(0, len(a.body)-200):])
	}
	if n := strings.Count(a.body, "x"); n >= 11<<20+100 || n < 11<<20-8192 {
		t.Errorf("%d bytes of output", n)
	}
}

// openStream begins a stream and returns a reader of its body.
func (r *rig) openStream(ctx context.Context, method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func TestStreamKeepAlive(t *testing.T) {
	r := newRig(t, local.Options{KeepAlive: 5 * time.Millisecond})
	r.machine("m", "")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp := r.openStream(ctx, "POST", api+"/m/exec/stream", `{"command":["sleep"]}`)
	defer resp.Body.Close()
	b := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != ":\n\n:\n\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

// A server that closes ends streams, without an exit event.
func TestStreamEndsWithServer(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	resp := r.openStream(context.Background(), "POST", api+"/m/exec/stream", `{"command":["sleep"]}`)
	defer resp.Body.Close()
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	r.down()
	b, _ := io.ReadAll(resp.Body)
	if strings.Contains(string(b), "exit") {
		t.Errorf("got %q", b)
	}
	if n := r.guest.sleepers(); n != 0 {
		t.Error("the command has survived its server")
	}
	r.up()
}

// The machine's end is an error event, since the stream has begun.
func TestStreamMachineStops(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	resp := r.openStream(context.Background(), "POST", api+"/m/exec/stream", `{"command":["sleep"]}`)
	defer resp.Body.Close()
	eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
	r.want(200, "", "POST", api+"/m/stop", "")
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "event: error\n" {
		t.Errorf("got %q, %v", line, err)
	}
}
