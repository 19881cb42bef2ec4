package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// want408 sends a request that must time out, with nothing in the answer.
func (r *rig) want408(method, path, body string) {
	r.t.Helper()
	a := r.do(method, path, body)
	if a.status != 408 || a.body != "" || a.header.Get("Content-Type") != "" {
		r.t.Errorf("%s %s: %d %q %v, want an empty 408", method, path, a.status, a.body, a.header)
	}
	if len(a.header.Get("X-Trace-Id")) != 16 {
		r.t.Errorf("trace id %q", a.header.Get("X-Trace-Id"))
	}
}

// The time-outs here must be long enough for what is not to time out.
const soon = 300 * time.Millisecond

func TestTimeoutLeavesCommandRunning(t *testing.T) {
	r := newRig(t, local.Options{Timeout: soon})
	r.machine("m", "")
	r.want408("POST", api+"/m/exec", `{"command":["sleep"],"timeoutSecs":60}`)
	if n := r.guest.sleepers(); n != 1 {
		t.Errorf("%d commands run on, want 1", n)
	}
	r.want(200, "", "POST", api+"/m/exec/stream", `{"command":["sleep"],"timeoutSecs":1}`) // the body of a stream is not timed
}

func TestDisconnectLeavesCommandRunning(t *testing.T) {
	for _, route := range []string{"/exec", "/exec/stream"} {
		t.Run(route, func(t *testing.T) {
			r := newRig(t, local.Options{})
			r.machine("m", "")
			ctx, cancel := context.WithCancel(context.Background())
			f := r.begin(ctx, "POST", api+"/m"+route, `{"command":["sleep"]}`)
			eventually(t, "the command runs", func() bool { return r.guest.sleepers() == 1 })
			cancel()
			<-f.done
			r.want(200, "", "GET", "/health", "")
			if n := r.guest.sleepers(); n != 1 {
				t.Errorf("%d commands run on, want 1", n)
			}
		})
	}
}

func TestStartAbandonedWhileBooting(t *testing.T) {
	r := newRig(t, local.Options{Timeout: soon})
	gate := make(chan struct{})
	r.guest.set(func(g *fakeGuest) { g.bootGate = gate })
	r.want(200, "", "POST", api, `{"name":"m"}`)
	r.want408("POST", api+"/m/start", "")
	const busy = "failed to start machine: agent operation failed: start agent: another process is already starting or running this VM"
	r.want(500, busy, "POST", api+"/m/start", "")
	r.want(200, "", "POST", api+"/m/stop", "")
	if got := r.state("m"); got != "created" {
		t.Errorf("it is %s, want created", got)
	}
	r.guest.set(func(g *fakeGuest) { g.bootGate = nil })
	close(gate)
	eventually(t, "it is stopped again", func() bool { return r.guest.count() == 0 })
	eventually(t, "it can be started", func() bool { return r.do("POST", api+"/m/start", "").status == 200 })
}

// abandonPull makes a machine whose start was abandoned while the image was pulled, which comes to its end now.
func abandonPull(t *testing.T) *rig {
	gate := make(chan struct{})
	r := newRig(t, local.Options{Timeout: soon, Pull: func(ctx context.Context, _ string) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	r.want(200, "", "POST", api, `{"name":"m","image":"alpine","network":true,"cmd":["sleep"]}`)
	r.want408("POST", api+"/m/start", "")
	r.want(500, "machine 'm' process (pid unknown) is still alive after shutdown; not removing", "DELETE", api+"/m", "")
	close(gate)
	return r
}

func TestStartAbandonedInPull(t *testing.T) {
	const busy = "failed to start machine: agent operation failed: start agent: another process is already starting or running this VM"
	limbo := func(r *rig) {
		r.t.Helper()
		if n := r.guest.count(); n != 1 {
			r.t.Errorf("%d machines run, want 1", n)
		}
		a := r.do("GET", api+"/m", "")
		if !strings.Contains(a.body, `"state":"created"`) || strings.Contains(a.body, `"pid"`) {
			r.t.Errorf("GET answers %s", a.body)
		}
		if n := r.guest.sleepers(); n != 0 {
			r.t.Error("the workload was launched")
		}
	}
	t.Run("stop does nothing, exec adopts", func(t *testing.T) {
		r := abandonPull(t)
		limbo(r)
		r.want(200, "", "POST", api+"/m/stop", "")
		r.want(500, "machine 'm' process (pid unknown) is still alive after shutdown; not removing", "DELETE", api+"/m", "")
		limbo(r)
		if out := r.exec("m", `{"command":["echo","hi"]}`); out.Stdout != "hi\n" {
			t.Errorf("exec: %+v", out)
		}
		if n := r.guest.bootCount(); n != 1 {
			t.Errorf("%d boots: exec did not adopt the machine", n)
		}
		a := r.do("GET", api+"/m", "")
		if !strings.Contains(a.body, `"state":"running"`) || !strings.Contains(a.body, `"pid":4242`) {
			t.Errorf("then GET answers %s", a.body)
		}
		r.want(200, "", "POST", api+"/m/stop", "")
		r.want(200, "", "DELETE", api+"/m", "")
		if n := r.guest.count(); n != 0 {
			t.Errorf("%d machines left", n)
		}
	})
	t.Run("a second start kills it", func(t *testing.T) {
		r := abandonPull(t)
		eventually(t, "a start kills it", func() bool { // before that the pull is in its way
			r.want(500, busy, "POST", api+"/m/start", "")
			return r.guest.count() == 0
		})
		r.want(200, "", "POST", api+"/m/start", "")
	})
	t.Run("it outlives the server", func(t *testing.T) {
		r := abandonPull(t)
		r.down()
		r.up()
		limbo(r)
		r.exec("m", `{"command":["true"]}`)
		if got := r.state("m"); got != "running" {
			t.Errorf("it is %s", got)
		}
	})
}

func TestFailedPull(t *testing.T) {
	for _, tt := range []struct {
		version string
		stale   bool
	}{{"1.14.5", true}, {"1.14.6", false}, {"1.22.2", false}} {
		t.Run(tt.version, func(t *testing.T) {
			fail := errors.New("manifest unknown")
			r := newRig(t, local.Options{Version: tt.version, Pull: func(context.Context, string) error { return fail }})
			r.want(200, "", "POST", api, `{"name":"m","image":"alpine","network":true}`)
			const pulled = "agent operation failed: pull image: manifest unknown"
			r.want(500, pulled, "POST", api+"/m/start", "")
			if r.state("m") != "created" || r.guest.count() != 0 {
				t.Errorf("it is %s, and %d run", r.state("m"), r.guest.count())
			}
			second := pulled
			if tt.stale {
				second = "failed to start machine: agent operation failed: start agent: another process is already starting or running this VM"
			}
			r.want(500, second, "POST", api+"/m/start", "")
			r.want(500, pulled, "POST", api+"/m/exec", `{"command":["true"]}`)
			fail = nil
			r.exec("m", `{"command":["true"]}`) // the handle that has the lock recovers it
			r.want(200, "", "POST", api+"/m/stop", "")
			r.want(200, "", "POST", api+"/m/start", "")
		})
	}
}

func TestStaleLockEndsWithServer(t *testing.T) {
	fail := errors.New("no")
	r := newRig(t, local.Options{Pull: func(context.Context, string) error { return fail }})
	r.want(200, "", "POST", api, `{"name":"m","image":"alpine","network":true}`)
	r.want(500, "agent operation failed: pull image: no", "POST", api+"/m/start", "")
	fail = nil
	r.down()
	r.up()
	r.want(200, "", "POST", api+"/m/start", "")
}

func TestSlowUploadTimesOut(t *testing.T) {
	r := newRig(t, local.Options{Timeout: soon})
	r.machine("m", "")
	c := r.dial()
	defer c.Close()
	c.send("PUT " + api + "/m/files/f HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	resp := c.response("PUT")
	if resp.status != 408 || resp.body != "" {
		t.Errorf("answered %d %q", resp.status, resp.body)
	}
	r.want(500, "", "GET", api+"/m/files/f", "") // nothing was written
}
