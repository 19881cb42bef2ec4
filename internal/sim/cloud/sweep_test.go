package cloud_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/shelf"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// state is the machine's state, or gone.
func (r *rig) state(id string) string {
	r.t.Helper()
	a := r.do("GET", one(id, ""), "")
	if a.status == 404 {
		return "gone"
	}
	var m machine
	a.json(r.t, &m)
	return m.State
}

func TestSweep(t *testing.T) {
	always := cloud.DefaultPlan()
	always.AllowAlwaysOn = true
	for _, tt := range []struct {
		name, fields string
		started      bool
		change       func(*cloud.Options)
		early, late  time.Duration // the last time that it is as it was, and the first that it is not
		want         string
	}{
		{"idle", `,"autoStopSeconds":40`, true, nil, 44 * time.Second, 45 * time.Second, "stopped"},
		{"idle and ephemeral", `,"autoStopSeconds":40,"ephemeral":true`, true, nil, 44 * time.Second, 45 * time.Second, "gone"},
		{"time to live", `,"ttlSeconds":40`, false, nil, 44 * time.Second, 45 * time.Second, "gone"},
		{"time to live of one that runs", `,"ttlSeconds":45`, true, nil, 44 * time.Second, 45 * time.Second, "gone"},
		{"a port", `,"ports":[{"port":80}]`, true, nil, 30*time.Minute - time.Second, 30 * time.Minute, "stopped"},
		{"a port, sooner", `,"ports":[{"port":80}]`, true, func(o *cloud.Options) { o.IdleStop = time.Minute }, 59 * time.Second, time.Minute, "stopped"},
		{"a port, always on", `,"ports":[{"port":80}]`, true, func(o *cloud.Options) { o.Plan = &always }, 48 * time.Hour, 0, ""},
		{"a port, never", `,"ports":[{"port":80}]`, true, func(o *cloud.Options) { o.IdleStop = -1 }, 48 * time.Hour, 0, ""},
		{"a port and a zero", `,"ports":[{"port":80}],"autoStopSeconds":0`, true, nil, 48 * time.Hour, 0, ""},
		{"nothing asked for", ``, true, nil, 48 * time.Hour, 0, ""},
		{"never started", `,"ephemeral":true,"autoStopSeconds":1`, false, nil, 48 * time.Hour, 0, ""},
		{"never started and reaped", `,"ephemeral":true`, false, func(o *cloud.Options) { o.ReapEphemeral = true }, 14 * time.Second, 15 * time.Second, "gone"},
		{"no sweep", `,"ttlSeconds":1`, false, func(o *cloud.Options) { o.Sweep = -1 }, 48 * time.Hour, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(o *cloud.Options) {
				o.Credit, o.Sample = 1<<60, 1000*time.Hour // which would only be work
				if tt.change != nil {
					tt.change(o)
				}
			})
			was := "stopped"
			id := r.create(tt.fields)
			if tt.started {
				was = "started"
				r.must(200, "POST", one(id, "/start"), "")
			}
			r.clock.Advance(tt.early)
			if got := r.state(id); got != was {
				t.Fatalf("%s after %v", got, tt.early)
			}
			if tt.want == "" {
				return
			}
			r.clock.Advance(tt.late - tt.early)
			if got := r.state(id); got != tt.want {
				t.Errorf("%s after %v, want %s", got, tt.late, tt.want)
			}
		})
	}
}

// Use puts off the stop, and a command that runs keeps its machine alive for as long as it takes.
func TestIdle(t *testing.T) {
	r := newRig(t, nil)
	id := r.up(`,"autoStopSeconds":30`)
	for _, use := range []struct{ method, path, body string }{
		{"POST", "/exec", `{"command":["echo"]}`},
		{"POST", "/exec/stream", `{"command":["echo"]}`},
		{"PUT", "/files/a", "x"},
		{"GET", "/files/a", ""},
		{"POST", "/code", `{"language":"node","code":"1"}`},
	} {
		r.clock.Advance(29 * time.Second)
		r.do(use.method, one(id, use.path), use.body)
	}
	for _, look := range []string{"", "/events", "/usage", "/logs", "/sessions"} {
		r.must(200, "GET", one(id, look), "")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.try(t.Context(), "POST", one(id, "/exec"), `{"command":["hold"]}`)
	}()
	r.held(id)
	r.clock.Advance(time.Hour)
	if got := r.state(id); got != "started" {
		t.Fatalf("%s while a command runs", got)
	}
	r.must(200, "POST", one(id, "/stop"), "")
	<-ended
	r.must(200, "POST", one(id, "/start"), "")
	r.clock.Advance(45 * time.Second)
	if got := r.state(id); got != "stopped" {
		t.Errorf("%s when nobody uses it", got)
	}
	if e := strings.Join(r.events(id), "\n"); !strings.Contains(e, "stopped because it was idle") {
		t.Errorf("%s", e)
	}
}

// What is deleted because its time is over leaves its bill, and its name is free.
func TestTTLBill(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(sized + `,"name":"m","ttlSeconds":40`)
	r.must(200, "POST", one(id, "/start"), "")
	r.clock.Advance(time.Minute)
	if f := r.bill(id); f.Usage.TotalUptimeSeconds != 45 || f.Cost.CPUMicros != 900 {
		t.Errorf("%+v", f)
	}
	r.create(`,"name":"m"`)
}

// The next server has the machines that run, halted ones too, and knows what has died.
func TestAdoption(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	runs, paused := r.up(`,"name":"runs"`), r.up(`,"name":"paused"`)
	stopped, dies := r.create(`,"name":"stopped"`), r.up(`,"name":"dies"`)
	dying := r.up(`,"name":"dying","ephemeral":true`)
	r.exec(runs, "sh", "-c", "sleep 1000 >/dev/null 2>&1 &")
	r.must(200, "POST", one(paused, "/pause"), "")
	r.must(200, "POST", one(runs, "/exec"), `{"command":["sleep","1001"],"background":true}`)
	r.stop()
	if err := r.kill(dies, dying); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.clock.Advance(15 * time.Second)
	for id, want := range map[string]string{runs: "started", paused: "paused", stopped: "stopped", dies: "stopped", dying: "gone"} {
		if got := r.state(id); got != want {
			t.Errorf("%s is %s", id, got)
		}
	}
	if !r.sleeps(runs) {
		t.Error("what runs in the background does not any more")
	}
	r.must(409, "POST", one(runs, "/resume"), "")
	r.must(409, "POST", "/v1/machines", withSource(`,"name":"runs"`))
	r.must(200, "POST", one(paused, "/resume"), "")
	if o := r.exec(paused, "true"); o.ExitCode != 0 || r.s.Boots(paused) != 0 {
		t.Errorf("%+v", o)
	}
	r.must(200, "POST", one(dies, "/start"), "")
}

// kill ends machines behind the back of the server, which is closed.
func (r *rig) kill(ids ...string) error {
	for _, id := range ids {
		in, err := r.o.Guest.Adopt(context.Background(), filepath.Join(r.o.DataDir, "vms", shelf.Hash(id), "guest"))
		if err != nil {
			return err
		}
		if err := in.Kill(); err != nil {
			return err
		}
	}
	return nil
}

// A machine whose boot its server did not live to see is ended, and directories that no record knows are removed.
func TestLeftovers(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Guest = simtest.Sandbox(t) })
	id := r.create("")
	r.stop()
	boot := func(dir string) sim.Instance {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		in, err := r.o.Guest.Boot(t.Context(), &sim.Boot{Dir: dir, Name: "m", Image: "alpine"})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	unknown := filepath.Join(r.o.DataDir, "vms", "0123456789abcdef", "guest")
	half := boot(filepath.Join(r.o.DataDir, "vms", shelf.Hash(id), "guest"))
	lost := boot(unknown)
	r.start()
	for _, in := range []sim.Instance{half, lost} {
		select {
		case <-in.Done():
		case <-time.After(30 * time.Second):
			t.Error("a machine that nobody knows runs on")
		}
	}
	if _, err := os.Stat(filepath.Dir(unknown)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if got := r.state(id); got != "stopped" {
		t.Errorf("%s", got)
	}
	r.must(200, "POST", one(id, "/start"), "")
}
