package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

func TestLifecycle(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(`,"name":"web","ports":[{"port":80}],"branchable":true`)
	if m := r.get(id); m.State != "stopped" || m.Capabilities.Exec || m.Ports[0].HostPort != nil {
		t.Errorf("created: %+v", m)
	}
	r.must(200, "POST", one(id, "/start"), "")
	m := r.get(id)
	if m.State != "started" || m.Ready || m.URL != "" || m.Ports[0].HostPort == nil || !m.Capabilities.Exec || !m.Capabilities.Branch {
		t.Errorf("started: %+v", m)
	}
	if err := r.s.SetListening("web", 80, true); err != nil {
		t.Fatal(err)
	}
	if m = r.get(id); !m.Ready || m.ReadyAt == nil || !strings.HasPrefix(m.URL, "https://web-") {
		t.Errorf("ready: %+v", m)
	}
	r.must(200, "POST", one(id, "/start"), "")
	r.must(200, "POST", one(id, "/pause"), "")
	if m = r.get(id); m.State != "paused" || m.Capabilities.Exec || m.Ready {
		t.Errorf("paused: %+v", m)
	}
	for _, path := range []string{"/start", "/start?detach=true", "/pause", "/exec", "/branches", "/checkpoints"} {
		if a := r.do("POST", one(id, path), `{"command":["echo"],"name":"b"}`); a.status != 409 {
			t.Errorf("%s of a paused machine: %s", path, a)
		}
	}
	r.must(200, "POST", one(id, "/resume"), "")
	r.must(409, "POST", one(id, "/resume"), "")
	if m = r.get(id); m.State != "started" || !m.Ready {
		t.Errorf("resumed: %+v", m)
	}
	for range 2 {
		r.must(200, "POST", one(id, "/stop"), "")
		if m = r.get(id); m.State != "stopped" || m.Ready || m.ReadyAt != nil || m.URL != "" || m.Ports[0].HostPort != nil {
			t.Errorf("stopped: %+v", m)
		}
	}
	r.must(409, "POST", one(id, "/pause"), "")
	r.must(204, "DELETE", one(id, ""), "")
	for _, tt := range routes {
		if path := strings.Replace(tt.path, "/machines/m", "/machines/"+id, 1); path != tt.path {
			const body = `{"command":["echo"],"name":"x","language":"python","code":"1","envVar":"A","hosts":[],"value":"","ports":[],"cpus":1}`
			want := 404
			if strings.Contains(path, "snapshot") {
				want = 501
			}
			if strings.HasSuffix(path, "/usage") {
				want = 200
			}
			if a := r.do(tt.method, path, body, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Key", "x", "Sec-Websocket-Version", "13"); a.status != want {
				t.Errorf("%s %s of a deleted machine: %s", tt.method, path, a)
			}
		}
	}
	if n := r.s.Boots(id); n != 0 {
		t.Errorf("%d boots of nothing", n)
	}
}

// events are the messages of what happened to a machine.
func (r *rig) events(id string) []string {
	r.t.Helper()
	var list []struct{ ID, Level, Message, CreatedAt string }
	r.must(200, "GET", one(id, "/events"), "").json(r.t, &list)
	var out []string
	for _, e := range list {
		if e.ID == "" || e.CreatedAt == "" {
			r.t.Errorf("event %+v", e)
		}
		out = append(out, e.Level+" "+e.Message)
	}
	return out
}

func TestStartFails(t *testing.T) {
	var mu sync.Mutex
	fails := errors.New("registry is closed")
	r := newRig(t, func(o *cloud.Options) {
		o.Pull = func(context.Context, string) error {
			mu.Lock()
			defer mu.Unlock()
			return fails
		}
	})
	id := r.create("")
	const want = "pull image: registry is closed"
	if a := r.do("POST", one(id, "/start"), ""); a.status != 500 || !strings.Contains(a.body, want) {
		t.Errorf("%s", a)
	}
	if m := r.get(id); m.State != "error" || m.Error != "start failed: "+want {
		t.Errorf("%+v", m)
	}
	if a := r.do("POST", one(id, "/exec"), `{"command":["echo"]}`); a.status != 500 || !strings.Contains(a.body, want) {
		t.Errorf("%s", a)
	}
	if m := r.get(id); m.Error != "auto-start failed: "+want {
		t.Errorf("%+v", m)
	}
	if a := r.must(202, "POST", one(id, "/start?detach=true"), ""); a.body != "" {
		t.Errorf("%s", a)
	}
	r.await("the start fails", id, func(m machine) bool { return m.State == "error" })
	mu.Lock()
	fails = nil
	mu.Unlock()
	r.must(200, "POST", one(id, "/start"), "")
	if m := r.get(id); m.State != "started" || m.Error != "" {
		t.Errorf("%+v", m)
	}
}

func TestMissingImage(t *testing.T) {
	r := newRig(t, nil)
	var m machine
	r.must(201, "POST", "/v1/machines", `{"source":{"type":"image","reference":"no/missing:1"}}`).json(t, &m)
	if a := r.do("POST", one(m.ID, "/start"), ""); a.status != 500 || !strings.Contains(a.body, "pull image: image not found: no/missing:1") {
		t.Errorf("%s", a)
	}
}

// pulls is an image that comes when the test says so.
type pulls struct{ asked, go1 chan struct{} }

func newPulls(o *cloud.Options) *pulls {
	p := &pulls{make(chan struct{}, 100), make(chan struct{})}
	o.Pull = func(ctx context.Context, _ string) error {
		p.asked <- struct{}{}
		select {
		case <-p.go1:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return p
}

func TestDetachedStart(t *testing.T) {
	for _, always := range []bool{false, true} {
		var p *pulls
		r := newRig(t, func(o *cloud.Options) {
			p = newPulls(o)
			o.DetachStarts = always
		})
		id, path := r.create(""), "/start?detach=true"
		if always {
			path = "/start"
		}
		if a := r.must(202, "POST", one(id, path), ""); a.body != "" {
			t.Errorf("%s", a)
		}
		if m := r.get(id); m.State != "starting" {
			t.Errorf("%+v", m)
		}
		close(p.go1)
		r.await("it runs", id, func(m machine) bool { return m.State == "started" })
	}
}

func TestStartedConflict(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.StartedConflict = true })
	id := r.up("")
	r.must(409, "POST", one(id, "/start"), "")
}

// A start whose client goes while the machine boots goes on; one that still waits for its turn never happens.
func TestAbandonedStart(t *testing.T) {
	var p *pulls
	r := newRig(t, func(o *cloud.Options) { p = newPulls(o) })
	id := r.create("")
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := r.try(ctx, "POST", one(id, "/start"), "")
		gone <- err
	}()
	<-p.asked
	waiting, leave := context.WithCancel(t.Context())
	go func() {
		_, err := r.try(waiting, "POST", one(id, "/resize"), `{"cpus":7}`)
		gone <- err
	}()
	r.until("the second request is there", func() bool { return r.s.Count("POST", "/v1/machines/*/resize") == 1 })
	cancel()
	leave()
	for range 2 {
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	r.until("the server knows", func() bool { return strings.Contains(r.log.String(), one(id, "/resize")) })
	close(p.go1)
	m := r.await("it runs", id, func(m machine) bool { return m.State == "started" })
	if n := r.s.Boots(id); n != 1 {
		t.Errorf("%d boots", n)
	}
	r.must(200, "POST", one(id, "/stop"), "") // behind all that waited
	if m = r.get(id); m.Resources.CPUs != 4 {
		t.Errorf("%+v", m)
	}
}

// Many starts and commands at once boot a machine once.
func TestStartTogether(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			path := [...]string{"/start", "/exec", "/start?detach=true"}[i%3]
			if a, err := r.try(t.Context(), "POST", one(id, path), `{"command":["echo"]}`); err != nil || a.status > 202 {
				t.Errorf("%v, %v", a, err)
			}
		})
	}
	all.Wait()
	r.await("it runs", id, func(m machine) bool { return m.State == "started" })
	if n := r.s.Boots(id); n != 1 {
		t.Errorf("%d boots", n)
	}
}

// A machine whose processes die is stopped, and one that is ephemeral is gone.
func TestCrash(t *testing.T) {
	r := newRig(t, nil)
	kept, gone := r.up(""), r.up(`,"ephemeral":true`)
	r.s.KillAll()
	r.await("it is stopped", kept, func(m machine) bool { return m.State == "stopped" })
	r.until("it is gone", func() bool { return r.do("GET", one(gone, ""), "").status == 404 })
	want := []string{"info machine created", "info machine started", "warn machine ended unexpectedly"}
	if diff := cmp.Diff(want, r.events(kept)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.must(200, "POST", one(kept, "/start"), "")
}

func TestEphemeral(t *testing.T) {
	r := newRig(t, nil)
	id := r.up(`,"ephemeral":true`)
	if a := r.must(200, "POST", one(id, "/stop"), ""); !strings.Contains(a.body, `"state":"stopped"`) {
		t.Errorf("%s", a)
	}
	r.must(404, "GET", one(id, ""), "")
}

func TestResize(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(`,"resources":{"cpus":2,"memoryMb":512,"diskGb":5}`)
	for body, want := range map[string]string{
		`{}`: "nothing to resize", `{"cpus":0}`: "must be positive", `{"memoryMb":511}`: "memory can only grow", `{"diskGb":4}`: "disk can only grow",
		`{"diskGb":16385}`: "between 1 and 16384", `{"cpus":17}`: "plan's maximum of 16", `{"cpus":1.5}`: "invalid type", `{"memoryMb":"1"}`: "invalid type",
	} {
		if a := r.do("POST", one(id, "/resize"), body); a.status != 422 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %s", body, a)
		}
	}
	r.must(200, "POST", one(id, "/resize"), `{"cpus":1,"memoryMb":1024,"diskGb":6}`)
	if m := r.get(id); m.Resources.CPUs != 1 || m.Resources.MemoryMB != 1024 || *m.Resources.DiskGB != 6 {
		t.Errorf("%+v", m)
	}
}

func TestReadyDelay(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.ReadyDelay = 3 * time.Second })
	id := r.up("")
	r.clock.Advance(2 * time.Second)
	if m := r.get(id); m.Ready || !m.Capabilities.Exec {
		t.Errorf("%+v", m)
	}
	r.clock.Advance(time.Second)
	if m := r.get(id); !m.Ready {
		t.Errorf("%+v", m)
	}
	never := newRig(t, func(o *cloud.Options) { o.ReadyDelay = -1 })
	id = never.up("")
	never.clock.Advance(time.Hour)
	if m := never.get(id); m.Ready {
		t.Errorf("%+v", m)
	}
}

// A guest that fails leaves a machine that says so, and nothing that runs.
func TestGuestFails(t *testing.T) {
	g := &guestWith{Guest: script.New(programs), boot: func(context.Context, *sim.Boot) (sim.Instance, error) {
		return nil, errors.New("no room")
	}}
	r := newRig(t, func(o *cloud.Options) { o.Guest = g })
	id := r.create("")
	if a := r.do("POST", one(id, "/start"), ""); a.status != 500 || !strings.Contains(a.body, "no room") {
		t.Errorf("%s", a)
	}
	if m := r.get(id); m.State != "error" || m.Error != "start failed: no room" {
		t.Errorf("%+v", m)
	}
	r.must(204, "DELETE", one(id, ""), "")
}

func TestOptions(t *testing.T) {
	g := script.New(nil)
	for want, o := range map[string]*cloud.Options{
		"Options.Guest":          {DataDir: t.TempDir(), Token: "k"},
		"Options.DataDir":        {Guest: g, Token: "k"},
		"Options.Token":          {Guest: g, DataDir: t.TempDir()},
		"token of key 0":         {Guest: g, DataDir: t.TempDir(), Keys: []cloud.Key{{Token: "a b"}}},
		"token of key 1":         {Guest: g, DataDir: t.TempDir(), Keys: []cloud.Key{{Token: "a"}, {}}},
		"Options.Errors":         {Guest: g, DataDir: t.TempDir(), Token: "k", Errors: "html"},
		"Options.DefaultNetwork": {Guest: g, DataDir: t.TempDir(), Token: "k", DefaultNetwork: "allowCidrs"},
		"Options.FilesStatus":    {Guest: g, DataDir: t.TempDir(), Token: "k", FilesStatus: 500},
	} {
		if _, err := cloud.New(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a b") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := cloud.New(nil); err == nil {
		t.Error("no options at all are accepted")
	}
}

func TestNames(t *testing.T) {
	r := newRig(t, nil)
	seen := map[string]bool{}
	for range 20 {
		m := r.get(r.create(""))
		if seen[m.Name] || m.Name == "" || strings.Trim(m.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("the name is %q", m.Name)
		}
		seen[m.Name] = true
	}
	for name, label := range map[string]bool{"a": true, "a-b": true, "A": false, "a_b": false, "a--b": false, "-a": false, "a-": false} {
		id := r.up(fmt.Sprintf(`,"name":%q,"ports":[{"port":80}]`, name))
		if err := r.s.SetListening(id, 80, true); err != nil {
			t.Fatal(err)
		}
		if m := r.get(id); (m.URL != "") != label {
			t.Errorf("%s: %q", name, m.URL)
		}
	}
	if err := r.s.SetListening("none", 80, true); err == nil {
		t.Error("a port of nothing")
	}
}
