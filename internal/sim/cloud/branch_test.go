package cloud_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

func TestBranch(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		id := r.up(`,"name":"base","branchable":true,"labels":{"k":"v"},"ports":[{"port":80}],"env":{"A":"1"},"autoStopSeconds":9`)
		r.must(204, "PUT", one(id, "/files/root/f"), "base")
		var b machine
		r.must(201, "POST", one(id, "/branches"), `{"name":"child"}`).json(t, &b)
		if b.State != "started" || b.ParentMachineID != id || b.Branchable || b.Labels["k"] != "v" || b.Env["A"] != "1" || len(b.Ports) != 1 {
			t.Errorf("%+v", b)
		}
		r.must(204, "PUT", one(id, "/files/root/f"), "later")
		if a := r.must(200, "GET", one(b.ID, "/files/root/f"), ""); a.body != "base" {
			t.Errorf("the branch has %q", a.body)
		}
		if m := r.get(id); m.State != "started" || m.BranchState != "mutable" || *m.Ports[0].HostPort == *b.Ports[0].HostPort {
			t.Errorf("%+v", m)
		}
		r.must(409, "POST", one(b.ID, "/branches"), `{"name":"grandchild"}`)
		r.must(204, "DELETE", one(id, ""), "")
		if a := r.must(200, "GET", one(b.ID, "/files/root/f"), ""); a.body != "base" {
			t.Errorf("without its source the branch has %q", a.body)
		}
		r.must(204, "DELETE", one(b.ID, ""), "")
	})
}

func TestFreeze(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		id := r.up(`,"branchable":true`)
		r.must(201, "POST", one(id, "/fork"), `{"name":"a","freezeSource":true,"forkable":true,"labels":{}}`)
		m := r.get(id)
		if m.State != "started" || m.BranchState != "frozen" || m.Ready || m.Capabilities.Exec || !m.Capabilities.Branch {
			t.Errorf("%+v", m)
		}
		for _, path := range []string{"/exec", "/start", "/pause"} {
			r.must(409, "POST", one(id, path), `{"command":["echo"]}`)
		}
		r.must(409, "GET", one(id, "/files/etc/hostname"), "")
		r.must(201, "POST", one(id, "/branches"), `{"name":"b"}`) // again and again
		r.restart()
		if m := r.get(id); m.State != "started" || m.BranchState != "frozen" {
			t.Errorf("after a restart: %+v", m)
		}
		r.must(201, "POST", one(id, "/branches"), `{"name":"c"}`)
		r.must(200, "POST", one(id, "/stop"), "")
		r.must(200, "POST", one(id, "/start"), "")
		if m := r.get(id); m.BranchState != "mutable" || !m.Capabilities.Exec {
			t.Errorf("started again: %+v", m)
		}
	})
}

func TestBranchRefused(t *testing.T) {
	r := newRig(t, nil)
	plain, base := r.up(`,"name":"plain"`), r.up(`,"name":"base","branchable":true`)
	stopped := r.create(`,"branchable":true`)
	for _, tt := range []struct {
		id, path, body string
		status         int
		want           string
	}{
		{plain, "/branches", `{"name":"x"}`, 409, "not branchable"},
		{stopped, "/branches", `{"name":"x"}`, 409, "not running"},
		{"none", "/branches", `{"name":"x"}`, 404, "machine not found"},
		{base, "/branches", `{}`, 422, "missing field `name`"},
		{base, "/branches", `{"name":"plain"}`, 409, "already in use"},
		{base, "/branches", `{"name":"a/b"}`, 400, "invalid machine name"},
		{base, "/branches", `{"name":"x","branchable":true,"forkable":true}`, 422, "duplicate field"},
		{base, "/branches", `{"name":"x","ports":[{"port":0}]}`, 422, "port 0"},
		{base, "/branches", `{"name":"x","labels":{"K":"v"}}`, 422, "invalid label key"},
		{base, "/branches/batch", `{}`, 422, "count must be between 1 and 64"},
		{base, "/branches/batch", `{"count":0}`, 422, "count must be between 1 and 64"},
		{base, "/branches/batch", `{"count":65}`, 422, "count must be between 1 and 64"},
		{base, "/branches/batch", `{"names":["x","x"]}`, 409, "already in use"},
		{base, "/branches/batch", `{"names":["x","plain"]}`, 409, "already in use"},
		{base, "/fork-batch", `{"count":2,"namePrefix":"a.b"}`, 400, "invalid machine name"},
		{base, "/branches/batch", `{"names":["` + strings.Repeat(`a","`, 64) + `b"]}`, 422, "at most 64"},
	} {
		if a := r.do("POST", one(tt.id, tt.path), tt.body); a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s %s: %s, want %d with %q", tt.path, tt.body, a, tt.status, tt.want)
		}
	}
	r.create(`,"name":"x"`) // the name was not kept by what was refused
	old := newRig(t, func(o *cloud.Options) { o.Old.ForkOnly = true })
	id := old.create("")
	old.must(200, "POST", one(id, "/start?forkable=true"), "")
	for path, status := range map[string]int{"/branches": 404, "/branches/batch": 404, "/fork": 201} {
		if a := old.do("POST", one(id, path), `{"name":"y"}`); a.status != status || status == 404 && a.body != "" {
			t.Errorf("%s: %s", path, a)
		}
	}
}

// A batch is made whole or not at all.
func TestBatch(t *testing.T) {
	var boots atomic.Int32
	inner := script.New(programs)
	g := &guestWith{Guest: inner, boot: func(ctx context.Context, b *sim.Boot) (sim.Instance, error) {
		if boots.Add(1) == 4 {
			return nil, errors.New("no room")
		}
		return inner.Boot(ctx, b)
	}}
	r := newRig(t, func(o *cloud.Options) { o.Guest = g })
	id := r.up(`,"name":"base","branchable":true`)
	if a := r.do("POST", one(id, "/branches/batch"), `{"count":5}`); a.status != 502 || !strings.Contains(a.body, "no room") {
		t.Errorf("%s", a)
	}
	if a := r.must(200, "GET", "/v1/machines", ""); strings.Count(a.body, `"id"`) != 1 {
		t.Errorf("left: %s", a)
	}
	if m := r.get(id); m.State != "started" || m.BranchState != "mutable" || r.exec(id, "echo").ExitCode != 0 {
		t.Errorf("%+v", m)
	}
	var made struct{ Clones []machine }
	r.must(201, "POST", one(id, "/branches/batch"), `{"count":3}`).json(t, &made)
	r.must(201, "POST", one(id, "/branches/batch"), `{"names":["z","y"],"count":9}`).json(t, &made)
	if len(made.Clones) != 2 || made.Clones[0].Name != "z" || made.Clones[1].Name != "y" {
		t.Errorf("%+v", made)
	}
	var line struct {
		RootMachineID string
		Machines      []machine
	}
	r.must(200, "GET", one(made.Clones[1].ID, "/lineage"), "").json(t, &line)
	var names []string
	for _, m := range line.Machines {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"base", "base-1", "base-2", "base-3", "z", "y"}, names); diff != "" || line.RootMachineID != id {
		t.Errorf("%s (-want +got):\n%s", line.RootMachineID, diff)
	}
	r.must(200, "GET", one(r.create(""), "/lineage"), "").json(t, &line)
	if len(line.Machines) != 1 {
		t.Errorf("%+v", line)
	}
}

// Branches of one source wait for each other, and for their turn in the plan.
func TestBranchTogether(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) {
		p := cloud.DefaultPlan()
		p.MaxConcurrentMachines = 4
		o.Plan = &p
	})
	id := r.up(`,"branchable":true`)
	var all sync.WaitGroup
	var made, refused atomic.Int32
	for i := range 6 {
		all.Go(func() {
			a, err := r.try(t.Context(), "POST", one(id, "/branches"), `{"name":"b`+string(rune('0'+i))+`"}`)
			switch {
			case err == nil && a.status == 201:
				made.Add(1)
			case err == nil && a.status == 422 && strings.Contains(a.body, "concurrency limit reached"):
				refused.Add(1)
			default:
				t.Errorf("%v, %v", a, err)
			}
		})
	}
	all.Wait()
	if made.Load() != 3 || refused.Load() != 3 {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
}
