package local_test

import (
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

func TestBranch(t *testing.T) {
	for _, tt := range []struct{ version, route, flag, then string }{
		{"1.9.2", "/fork", "forkable", "frozen"},
		{"1.14.5", "/branches", "branchable", "frozen"},
		{"1.16.1", "/fork", "forkable", "frozen"},
		{"1.18.2", "/branches", "branchable", "running"},
	} {
		t.Run(tt.version, func(t *testing.T) {
			r := newRig(t, local.Options{Version: tt.version})
			r.want(200, "", "POST", api, `{"name":"g"}`)
			r.want(200, "", "POST", api+"/g/start?"+tt.flag+"=true", "")
			r.want(200, "", "PUT", api+"/g/files/disk", "precious")
			a := r.want(200, "", "POST", api+"/g"+tt.route, `{"name":"c","env":["A=1","B=","PATH","=x"]}`)
			if !strings.Contains(a.body, `"name":"c","state":"running"`) || !strings.Contains(a.body, `"forkable":false`) {
				t.Errorf("answered %s", a.body)
			}
			if got := r.state("g"); got != tt.then {
				t.Errorf("the source is %s, want %s", got, tt.then)
			}
			if got := r.do("GET", api+"/c/files/disk", "").body; got != "precious" {
				t.Errorf("the clone's disk has %q", got)
			}
			if got := r.do("GET", api+"/c/files/etc/smolvm/fork-env", "").body; got != "A=1\nB=\n" {
				t.Errorf("its environment is %q", got)
			}
			r.want(409, "", "POST", api+"/c"+tt.route, `{"name":"d"}`) // a clone is no source
		})
	}
}

func TestBranchRefusals(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	r.want(200, "", "POST", api, `{"name":"off"}`)
	const not = "agent operation failed: fork: golden 'm' is not running forkable; start it with branchable=true (restart it if it runs)"
	r.want(409, not, "POST", api+"/m/fork", `{"name":"c"}`)
	r.want(200, "", "POST", api+"/m/start?branchable=true", "") // has no effect on a machine that runs
	r.want(409, not, "POST", api+"/m/fork", `{"name":"c"}`)
	r.want(409, "", "POST", api+"/off/fork", `{"name":"c"}`)
	r.want(404, "vm not found: none", "POST", api+"/none/fork", `{"name":"c"}`)
	r.want(500, "", "POST", api+"/none/fork", `{"name":"c","waitReady":true}`)
	r.want(500, "", "POST", api+"/off/fork", `{"name":"c","hold":true}`)
	r.want(200, "", "POST", api+"/m/stop", "")
	r.want(200, "", "POST", api+"/m/start?branchable=true", "")
	r.want(500, "config operation failed: clone name: clone name cannot end with a hyphen (got: \"c-\")", "POST", api+"/m/fork", `{"name":"c-"}`)
	r.want(409, "machine 'off' already exists", "POST", api+"/m/fork", `{"name":"off"}`)
	r.want(409, "clone name 'm' is already used by the golden", "POST", api+"/m/fork", `{"name":"m"}`)
	r.want(400, "config operation failed: fork env: invalid key '1': must match [A-Za-z_][A-Za-z0-9_]*", "POST", api+"/m/fork", `{"name":"c","env":["1=x"]}`)
	r.want(400, "config operation failed: fork env: value for 'A' must not contain newlines", "POST", api+"/m/fork", `{"name":"c","env":["A=\n"]}`)
	r.want(400, "port 0 is not valid for VM port forwarding", "POST", api+"/m/fork", `{"name":"c","ports":[{"host":0,"guest":1}]}`)
	if got := r.state("m"); got != "running" {
		t.Errorf("after refusals it is %s", got)
	}
	if n := r.guest.count(); n != 1 {
		t.Errorf("%d machines run", n)
	}
	r.want(404, "", "POST", api+"/none/nothing", `{}`)
}

// A frozen source and its clones, as the older releases have them.
func TestFrozen(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"g"}`)
	r.want(200, "", "POST", api+"/g/start?forkable=true", "")
	r.want(200, "", "POST", api+"/g/fork", `{"name":"b"}`)
	r.want(200, "", "POST", api+"/g/fork", `{"name":"a"}`) // again, from the frozen one
	const base = "machine 'g' is the fork base of 2 live clone(s) (a, b); "
	r.want(409, "machine 'g' is frozen because it is the fork base for 2 live clone(s) (a, b); delete the clones first", "POST", api+"/g/start", "")
	r.want(409, base+"they CoW-map its memory and disks — stop or delete the clones first", "POST", api+"/g/stop", "")
	r.want(409, base+"their disks are backed by its disks — delete the clones first", "DELETE", api+"/g", "")
	r.want(409, "machine 'g' must be stopped before resizing. Current state: Frozen", "POST", api+"/g/resize", `{"storageGb":99}`)

	r.down()
	r.up() // it is still frozen to the next server
	if got := r.state("g"); got != "frozen" {
		t.Errorf("after a restart of the server it is %s", got)
	}
	r.want(200, "", "DELETE", api+"/a", "")
	r.want(200, "", "DELETE", api+"/b", "")
	r.want(409, "machine 'g' is frozen because it retains a reusable fork checkpoint; stop it before restarting, or fork it again", "POST", api+"/g/start", "")
	r.want(200, "", "POST", api+"/g/stop", "")
	r.want(200, "", "POST", api+"/g/start", "")
	if got := r.state("g"); got != "running" {
		t.Errorf("after stop and start it is %s", got)
	}

	r.want(200, "", "POST", api+"/g/fork", `{"name":"c"}`)
	r.want(500, "machine 'g' is a fork base for 1 live clone(s) (c); delete the clones first", "POST", api+"/g/exec", `{"command":["true"]}`)
	if n := r.guest.count(); n != 1 {
		t.Errorf("%d machines run, want the clone", n)
	}
	r.want(200, `{"deleted":"g"}`, "DELETE", api+"/g?cascade=true", "")
	if n := r.guest.count(); n != 0 {
		t.Errorf("%d machines run", n)
	}
	r.want(404, "", "GET", api+"/c", "")
}

func TestForkHold(t *testing.T) {
	r := newRig(t, local.Options{})
	r.want(200, "", "POST", api, `{"name":"g"}`)
	r.want(200, "", "POST", api+"/g/start?forkable=true", "")
	a := r.want(200, "", "POST", api+"/g/fork", `{"name":"c","hold":true}`)
	if !strings.Contains(a.body, `"forkpointHeld":true`) {
		t.Error(a.body)
	}
	r.want(409, "machine 'g' is not a held fork-pool slot", "POST", api+"/g/fork-release", `{}`)
	a = r.want(200, "", "POST", api+"/c/fork-release", `{"env":["X=y"]}`)
	if !strings.Contains(a.body, `"forkpointHeld":false`) {
		t.Error(a.body)
	}
	if got := r.do("GET", api+"/c/files/etc/smolvm/fork-env", "").body; got != "X=y\n" {
		t.Errorf("its environment is %q", got)
	}
	r.want(409, "machine 'c' was already claimed", "POST", api+"/c/fork-release", `{}`)
}

func TestPause(t *testing.T) {
	r := newRig(t, local.Options{Version: "1.18.0"})
	r.machine("m", "")
	r.want(409, "machine 'm' is not paused", "POST", api+"/m/resume", `{}`)
	a := r.want(200, "", "POST", api+"/m/pause", `{}`)
	if !strings.Contains(a.body, `"state":"paused"`) || strings.Contains(a.body, `"pid"`) {
		t.Error(a.body)
	}
	const refused = "machine 'm' is paused; resume it first"
	r.want(409, refused, "POST", api+"/m/exec", `{"command":["true"]}`)
	r.want(409, refused, "POST", api+"/m/start", "")
	r.want(409, refused, "POST", api+"/m/stop", "")
	r.s.Tick()
	r.down()
	r.up()
	if got := r.state("m"); got != "paused" {
		t.Errorf("to the next server it is %s", got)
	}
	a = r.want(200, "", "POST", api+"/m/resume", `{}`)
	if !strings.Contains(a.body, `"state":"running"`) || r.guest.bootCount() != 1 {
		t.Errorf("%s after %d boots", a.body, r.guest.bootCount())
	}
	r.exec("m", `{"command":["true"]}`)
	r.want(200, "", "POST", api+"/m/pause", `{}`)
	r.want(200, "", "DELETE", api+"/m", "")
}

func TestRoutesByVersion(t *testing.T) {
	for _, tt := range []struct {
		version string
		absent  []string
	}{
		{"1.9.2", []string{"branches", "checkpoint", "sync", "pause", "resume"}},
		{"1.14.2", []string{"pause", "resume"}},
		{"1.18.0", nil},
	} {
		r := newRig(t, local.Options{Version: tt.version})
		for _, route := range []string{"branches", "checkpoint", "sync", "pause", "resume"} {
			a := r.do("POST", api+"/none/"+route, `{"name":"c"}`)
			absent := a.status == 404 && a.body == ""
			want := strings.Contains(" "+strings.Join(tt.absent, " ")+" ", " "+route+" ")
			if absent != want {
				t.Errorf("%s %s: absent is %v, want %v", tt.version, route, absent, want)
			}
		}
	}
	if _, err := local.New(&local.Options{Guest: newFakeGuest(), DataDir: t.TempDir(), Version: "1.14"}); err == nil {
		t.Error("version 1.14 was taken")
	}
}
