package cloud_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

// withSource is the body of a create with further fields.
func withSource(fields string) string {
	return `{"source":{"type":"image","reference":"alpine"}` + fields + `}`
}

func TestCreate(t *testing.T) {
	r := newRig(t, nil)
	a := r.must(201, "POST", "/v1/machines", withSource(`,"name":"web","resources":{"cpus":2,"memoryMb":512,"diskGb":5},"network":{"mode":"blocked"},
		"env":{"A":"1"},"workdir":"/srv","command":["echo"],"ports":[{"port":80,"hostPort":9}],"public":true,"labels":{"team/x":"y"},"autoStopSeconds":0,
		"ttlSeconds":60,"ephemeral":true,"unknown":{"a":[1]},"cpus":64`))
	var m map[string]any
	a.json(t, &m)
	if id, _ := m["id"].(string); !regexp.MustCompile(`^mach-[0-9a-f]{32}$`).MatchString(id) {
		t.Errorf("the id is %q", id)
	}
	for _, volatile := range []string{"id", "capabilities"} {
		delete(m, volatile)
	}
	at := r0.Format("2006-01-02T15:04:05Z")
	want := map[string]any{
		"name": "web", "state": "stopped", "ready": false, "readyAt": nil, "error": nil, "url": nil, "arch": nil,
		"source":    map[string]any{"type": "image", "reference": "alpine"},
		"resources": map[string]any{"cpus": 2.0, "memoryMb": 512.0, "diskGb": 5.0}, "network": map[string]any{"mode": "blocked"},
		"env": map[string]any{"A": "1"}, "workdir": "/srv", "ports": []any{map[string]any{"port": 80.0, "hostPort": nil}},
		"labels": map[string]any{"team/x": "y"}, "ephemeral": true, "autoStopSeconds": 0.0, "ttlSeconds": 60.0,
		"branchable": false, "forkable": false, "branchState": nil, "checkpointState": nil, "branchGeneration": nil, "forkGeneration": nil,
		"rootBranchId": nil, "rootCheckpointId": nil, "parentMachineId": nil, "createdAt": at, "updatedAt": at, "lastActivityAt": nil,
		"createdBy": "tenant-1",
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCreateRefused(t *testing.T) {
	r := newRig(t, nil)
	long, labels := strings.Repeat("n", 64), map[string]string{}
	for i := range 33 {
		labels[fmt.Sprint("l", i)] = ""
	}
	many, err := json.Marshal(labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"no body", "", 400, "EOF"},
		{"no JSON", "{", 400, "Failed to parse the request body as JSON"},
		{"more than one", withSource("") + "{}", 400, "trailing characters"},
		{"a list", "[]", 422, "Failed to deserialize the JSON body into the target type"},
		{"no source", "{}", 422, "Failed to deserialize the JSON body into the target type: missing field `source`"},
		{"the hint", "{}", 422, `{\"type\":\"image\",\"reference\":\"alpine:3.20\"}`},
		{"text as source", `{"source":"alpine"}`, 422, "invalid type: string"},
		{"unknown source", `{"source":{"type":"disk","reference":"a"}}`, 422, "unknown variant `disk`"},
		{"no reference", `{"source":{"type":"image"}}`, 422, "missing field `reference`"},
		{"empty reference", `{"source":{"type":"image","reference":""}}`, 400, "invalid source reference"},
		{"reference with a space", `{"source":{"type":"image","reference":"a b"}}`, 400, "invalid source reference"},
		{"twice", withSource(`,"source":{"type":"image","reference":"b"}`), 422, "duplicate field `source`"},
		{"both names", withSource(`,"branchable":true,"forkable":true`), 422, "duplicate field `branchable`"},
		{"text as command", withSource(`,"command":"ls"`), 422, "invalid type: string"},
		{"negative", withSource(`,"ttlSeconds":-1`), 422, "invalid value: integer `-1`"},
		{"empty name", withSource(`,"name":""`), 400, "invalid machine name"},
		{"dot", withSource(`,"name":"a.b"`), 400, "invalid machine name"},
		{"up", withSource(`,"name":".."`), 400, "invalid machine name"},
		{"slash", withSource(`,"name":"a/b"`), 400, "invalid machine name"},
		{"NUL", withSource(`,"name":"a\u0000"`), 400, "invalid machine name"},
		{"newline", withSource(`,"name":"a\n"`), 400, "invalid machine name"},
		{"no UTF-8", withSource(",\"name\":\"\xff\""), 400, "invalid unicode code point"},
		{"long name", withSource(`,"name":"` + long + `"`), 400, "invalid machine name"},
		{"empty list", withSource(`,"network":{"mode":"allowCidrs"}`), 400, "allowCidrs network mode requires at least one CIDR or host"},
		{"empty lists", withSource(`,"network":{"mode":"allowCidrs","cidrs":[],"hosts":[]}`), 400, "requires at least one CIDR or host"},
		{"empty host", withSource(`,"network":{"mode":"allowCidrs","hosts":[""]}`), 400, "empty CIDR or host"},
		{"unknown mode", withSource(`,"network":{"mode":"shut"}`), 422, "unknown variant `shut`"},
		{"no CPU", withSource(`,"resources":{"cpus":0}`), 422, "at least 1"},
		{"little memory", withSource(`,"resources":{"memoryMb":63}`), 422, "at least 64"},
		{"no disk", withSource(`,"resources":{"diskGb":0}`), 422, "between 1 and 16384"},
		{"huge disk", withSource(`,"resources":{"diskGb":16385}`), 422, "between 1 and 16384"},
		{"durability", withSource(`,"resources":{"diskDurability":"none"}`), 422, "unknown variant `none`"},
		{"port 0", withSource(`,"ports":[{"port":0}]`), 422, "port 0"},
		{"port 65536", withSource(`,"ports":[{"port":65536}]`), 422, "invalid value"},
		{"a port twice", withSource(`,"ports":[{"port":1},{"port":1}]`), 422, "published twice"},
		{"17 ports", withSource(`,"ports":[` + strings.TrimSuffix(strings.Repeat(`{"port":1},`, 17), ",") + `]`), 422, "at most 16 ports"},
		{"label key", withSource(`,"labels":{"Team":"x"}`), 422, "invalid label key"},
		{"long label key", withSource(`,"labels":{"` + long + `":"x"}`), 422, "invalid label key"},
		{"long label", withSource(`,"labels":{"a":"` + strings.Repeat("x", 256) + `"}`), 422, "longer than 255"},
		{"33 labels", withSource(`,"labels":` + string(many)), 422, "at most 32 labels"},
		{"no such variable", withSource(`,"env":{"A=B":"x"}`), 400, "invalid environment variable"},
		{"empty variable", withSource(`,"env":{"":"x"}`), 400, "invalid environment variable"},
		{"NUL in a variable", withSource(`,"env":{"A":"\u0000"}`), 400, "invalid environment variable"},
		{"null for a bool", withSource(`,"public":null`), 422, "invalid type: null"},
		{"nested", withSource(`,"nestedVirt":true`), 422, `"code":"nested_virt_unavailable"`},
		{"other arch", `{"source":{"type":"image","reference":"a","arch":"mips"}}`, 422, "unknown arch"},
		{"credential", withSource(`,"credentials":["none"]`), 400, "credential 'none' is not stored"},
		{"cache disk", withSource(`,"cacheDisk":{"cache":"none"}`), 404, "cache disk not found"},
	} {
		if a := r.do("POST", "/v1/machines", tt.body); a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %s, want %d with %q", tt.name, a, tt.status, tt.want)
		}
	}
	if a := r.do("POST", "/v1/machines", withSource(""), "Content-Type", "text/plain"); a.status != 415 {
		t.Errorf("text: %s", a)
	}
	if a := r.must(200, "GET", "/v1/machines", ""); a.body != "[]" {
		t.Errorf("what was refused is there: %s", a)
	}
}

// Of many who want a name one gets it, and it is free again afterwards.
func TestCreateTogether(t *testing.T) {
	r := newRig(t, nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 20 {
		all.Go(func() {
			a, err := r.try(t.Context(), "POST", "/v1/machines", withSource(`,"name":"one"`))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	all.Wait()
	if diff := cmp.Diff(map[int]int{201: 1, 409: 19}, statuses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var list []machine
	r.must(200, "GET", "/v1/machines", "").json(t, &list)
	if len(list) != 1 {
		t.Fatalf("%d machines", len(list))
	}
	r.must(204, "DELETE", one(list[0].ID, ""), "")
	r.create(`,"name":"one"`)
}

// A create whose client is gone is carried out or not, and never half.
func TestCreateAbandoned(t *testing.T) {
	r := newRig(t, nil)
	for range 20 {
		conn, err := r.send(t.Context(), "POST", "/v1/machines", strings.NewReader(withSource(`,"name":"m"`)))
		if err != nil {
			t.Fatal(err)
		}
		conn.Body.Close()
		var list []machine
		r.must(200, "GET", "/v1/machines", "").json(t, &list)
		if len(list) != 1 || list[0].Name != "m" {
			t.Fatalf("%+v", list)
		}
		r.must(204, "DELETE", one(list[0].ID, ""), "")
	}
}

func TestPlan(t *testing.T) {
	disk := 20
	r := newRig(t, func(o *cloud.Options) {
		o.Plan = &cloud.Plan{ID: "p", Name: "Tiny", MaxCPUs: 2, MaxMemoryMB: 1024, MaxDiskGB: &disk, MaxMachines: 3, MaxConcurrentMachines: 1}
		o.Keys = []cloud.Key{{Token: "other", Account: "other"}}
	})
	const small = `,"resources":{"cpus":1,"memoryMb":256}`
	for body, want := range map[string]string{
		`,"resources":{"cpus":3,"memoryMb":256}`:             "cpus 3 exceeds the Tiny plan's maximum of 2",
		`,"resources":{"cpus":1,"memoryMb":2048}`:            "memoryMb 2048 exceeds the Tiny plan's maximum of 1024",
		`,"resources":{"cpus":1,"memoryMb":256,"diskGb":21}`: "diskGb 21 exceeds the Tiny plan's maximum of 20",
	} {
		if a := r.do("POST", "/v1/machines", withSource(body)); a.status != 422 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %s", body, a)
		}
	}
	ids := []string{r.create(small), r.create(small)}
	r.must(200, "POST", one(ids[0], "/start"), "")
	const limit = "concurrency limit reached: the Tiny plan runs at most 1 machines at once; see https://smolmachines.com/pricing"
	for _, path := range []string{one(ids[1], "/start"), one(ids[1], "/start?detach=true"), one(ids[1], "/exec")} {
		if a := r.do("POST", path, `{"command":["echo"]}`); a.status != 422 || !strings.Contains(a.body, limit) {
			t.Errorf("%s: %s", path, a)
		}
	}
	r.must(200, "POST", one(ids[0], "/stop"), "")
	r.create(small)
	const held = "machine count quota exceeded: the Tiny plan holds at most 3 machines"
	if a := r.do("POST", "/v1/machines", withSource(small)); a.status != 422 || !strings.Contains(a.body, held) {
		t.Errorf("%s", a)
	}
	r.must(201, "POST", "/v1/machines", withSource(small), "Authorization", "Bearer other")
}

func TestList(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Keys = []cloud.Key{{Token: "other", Account: "other"}} })
	r.create(`,"name":"a","labels":{"k":"v=w","t":""}`)
	r.create(`,"name":"b","labels":{"k":"x"}`)
	r.up(`,"name":"c","labels":{"t":""}`)
	r.must(201, "POST", "/v1/machines", withSource(`,"name":"a"`), "Authorization", "Bearer other")
	for query, want := range map[string]string{
		"": "a b c", "?label=t%3D": "a c", "?label=k%3Dv%3Dw": "a", "?label=k=x": "b", "?label=t=&label=k%3Dv%3Dw": "a", "?label=none%3D": "", "?other=1": "a b c",
	} {
		var list []machine
		r.must(200, "GET", "/v1/machines"+query, "").json(t, &list)
		var names []string
		for _, m := range list {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?label=k", "?label=", "?label=%3Dv", "?label=t%3D&label=x"} {
		if a := r.do("GET", "/v1/machines"+query, ""); a.status != 422 {
			t.Errorf("%s: %s", query, a)
		}
	}
}

// What a list says of a machine is what the machine says, also when it has just changed.
func TestListIsFresh(t *testing.T) {
	r := newRig(t, nil)
	id := r.create("")
	for _, step := range []string{"", "/start", "/pause", "/resume", "/stop"} {
		if step != "" {
			r.must(200, "POST", one(id, step), "")
		}
		if a, b := r.must(200, "GET", one(id, ""), ""), r.must(200, "GET", "/v1/machines", ""); "["+a.body+"]" != b.body {
			t.Errorf("after %q: %s and %s", step, a, b)
		}
	}
}
