package local_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// crash ends the machines without the server's doing.
func (g *fakeGuest) crash() {
	g.mu.Lock()
	var all []*fakeInstance
	for _, in := range g.running {
		all = append(all, in)
	}
	g.mu.Unlock()
	for _, in := range all {
		_ = in.Kill()
	}
}

func (r *rig) stored() string {
	r.t.Helper()
	var h struct {
		Machines struct{ Running int }
	}
	r.do("GET", "/health", "").decode(r.t, &h)
	if h.Machines.Running == 0 {
		return "down"
	}
	return "up"
}

func TestSupervisor(t *testing.T) {
	create := func(policy string) string {
		return `{"name":"m","restart":{"policy":"` + policy + `"}}`
	}
	t.Run("created becomes stopped", func(t *testing.T) {
		r := newRig(t, local.Options{})
		r.want(200, "", "POST", api, `{"name":"m"}`)
		r.s.Tick()
		if got := r.state("m"); got != "stopped" || r.guest.bootCount() != 0 {
			t.Errorf("it is %s after %d boots", got, r.guest.bootCount())
		}
	})
	t.Run("a dead machine stays down", func(t *testing.T) {
		r := newRig(t, local.Options{})
		r.machine("m", "")
		r.guest.crash()
		if got := r.state("m"); got != "stopped" {
			t.Errorf("the next read tells %s", got)
		}
		r.s.Tick()
		r.down()
		r.up() // it was noticed dead, so its record survives
		if got := r.state("m"); got != "stopped" {
			t.Errorf("after a restart of the server it is %s", got)
		}
	})
	for _, policy := range []string{"always", "on-failure", "unless-stopped", "UnlessStopped"} {
		t.Run(policy+" boots without being asked", func(t *testing.T) {
			r := newRig(t, local.Options{RestartUnit: time.Millisecond})
			r.want(200, "", "POST", api, create(policy))
			r.s.Tick()
			if got := r.state("m"); got != "running" {
				t.Errorf("it is %s", got)
			}
		})
	}
	t.Run("a stop does not stick", func(t *testing.T) {
		r := newRig(t, local.Options{RestartUnit: time.Millisecond})
		r.want(200, "", "POST", api, create("always"))
		r.want(200, "", "POST", api+"/m/start", "")
		r.want(200, "", "POST", api+"/m/stop", "")
		r.s.Tick()
		if r.stored() != "up" {
			t.Error("it is still stopped")
		}
	})
	t.Run("after stop and start a crash is not repaired until somebody uses it", func(t *testing.T) {
		r := newRig(t, local.Options{RestartUnit: time.Millisecond})
		r.want(200, "", "POST", api, create("always"))
		r.want(200, "", "POST", api+"/m/start", "")
		r.want(200, "", "POST", api+"/m/stop", "")
		r.want(200, "", "POST", api+"/m/start", "")
		r.guest.crash()
		r.s.Tick()
		if r.stored() != "down" {
			t.Error("it was restarted")
		}
		r.exec("m", `{"command":["true"]}`)
		r.guest.crash()
		r.s.Tick()
		if r.stored() != "up" {
			t.Error("after an exec it was not restarted")
		}
	})
	t.Run("a failed restart, and the end of the retries", func(t *testing.T) {
		r := newRig(t, local.Options{RestartUnit: time.Microsecond})
		r.want(200, "", "POST", api, `{"name":"m","restart":{"policy":"on-failure","maxRetries":2}}`)
		r.guest.set(func(g *fakeGuest) { g.bootErr = errors.New("no") })
		r.s.Tick()
		if got := r.state("m"); got != "failed" {
			t.Errorf("after one it is %s", got)
		}
		r.want(409, "machine 'm' must be stopped before resizing. Current state: Failed", "POST", api+"/m/resize", `{"storageGb":30}`)
		eventually(t, "no retries are left", func() bool {
			r.s.Tick()
			return r.state("m") == "stopped"
		})
		if n := r.guest.bootCount(); n != 2 {
			t.Errorf("%d boots, want 2", n)
		}
	})
	t.Run("it ticks by itself", func(t *testing.T) {
		r := newRig(t, local.Options{Supervisor: time.Millisecond})
		r.want(200, "", "POST", api, `{"name":"m"}`)
		eventually(t, "the machine is stopped", func() bool { return r.state("m") == "stopped" })
	})
}

func TestAdoption(t *testing.T) {
	r := newRig(t, local.Options{})
	if r.stdout.Len() > 0 {
		t.Errorf("printed %q with nothing to take up", r.stdout.String())
	}
	for _, name := range []string{"b", "a", "idle"} {
		r.want(200, "", "POST", api, `{"name":"`+name+`"}`)
	}
	r.want(200, "", "POST", api+"/a/start", "")
	r.want(200, "", "POST", api+"/b/start", "")
	r.exec("a", `{"command":["sleep"],"background":true}`)
	foreground := r.occupy("b", 1)
	r.down()
	<-foreground[0].done
	if n := r.guest.sleepers(); n != 1 {
		t.Errorf("%d commands have survived the server, want the one in the background", n)
	}
	r.up()
	if got := r.stdout.String(); got != "Reconnected to 2 existing machine(s): a, b\n" {
		t.Errorf("printed %q", got)
	}
	for name, want := range map[string]string{"a": "running", "b": "running", "idle": "created"} {
		if got := r.state(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if out := r.exec("a", `{"command":["echo","hi"]}`); out.Stdout != "hi\n" || r.guest.bootCount() != 2 {
		t.Errorf("%+v after %d boots", out, r.guest.bootCount())
	}
	r.want(200, "", "DELETE", api+"/a", "")
	r.want(200, "", "DELETE", api+"/b", "")
}

func TestDeadMachineIsDeleted(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := newRig(t, local.Options{KeepDead: keep})
		r.machine("m", "")
		r.want(200, "", "POST", api, `{"name":"n"}`)
		r.down()
		r.guest.crash()
		r.up()
		want := 404
		if keep {
			want = 200
		}
		if a := r.do("GET", api+"/m", ""); a.status != want || keep && !strings.Contains(a.body, `"state":"stopped"`) {
			t.Errorf("keep is %v: %d %s", keep, a.status, a.body)
		}
		r.want(200, "", "GET", api+"/n", "")
	}
}

func TestDatabaseOnly(t *testing.T) {
	r := newRig(t, local.Options{})
	if err := r.s.AddRecord("m", ""); err != nil {
		t.Fatal(err)
	}
	if got := r.state("m"); got != "created" {
		t.Errorf("it is %s", got)
	}
	r.s.Tick() // which looks at the registry only
	r.want(409, "machine 'm' already exists or is being created", "POST", api, `{"name":"m"}`)
	for path, body := range map[string]string{"/exec": `{"command":["true"]}`, "/images/pull": `{"image":"a"}`, "/run": `{"image":"a","command":["x"]}`} {
		r.want(404, "machine 'm' not found", "POST", api+"/m"+path, body)
	}
	r.want(404, "machine 'm' not found", "GET", api+"/m/files/x", "")
	r.want(404, "machine 'm' has not been started yet — no logs available", "GET", api+"/m/logs", "")
	r.want(200, "", "POST", api+"/m/start", "")
	r.exec("m", `{"command":["true"]}`)
	if err := r.s.AddRecord("m", ""); err == nil {
		t.Error("a second record of the name was added")
	}
	if err := r.s.AddRecord("a/b", ""); err == nil {
		t.Error("a bad name was taken")
	}
}
