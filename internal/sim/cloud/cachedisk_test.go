package cloud_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

type cacheDisk struct {
	ID, Name, MountPath string
	SizeGB              int `json:"sizeGb"`
	LatestVersion       int
	Versions            []struct {
		Version, SizeBytes      int
		SHA256, SourceMachineID string
	}
}

// What a machine wrote on its cache disk reaches those created after it was published, branches, and what is restored.
func TestCacheDisk(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		r.must(201, "POST", "/v1/cache-disks", `{"name":"deps","mountPath":"/deps"}`)
		id := r.up(`,"name":"m","branchable":true,"cacheDisk":{"cache":"deps"}`)
		r.must(204, "PUT", one(id, "/files/deps/a"), "one")
		var b machine
		r.must(201, "POST", one(id, "/branches"), `{"name":"b"}`).json(t, &b)
		p := r.capture(id)
		r.must(204, "PUT", one(id, "/files/deps/a"), "two")
		r.must(200, "POST", one(id, "/stop"), "")
		var published struct {
			CacheDisk cacheDisk
			Version   struct{ Version int }
		}
		r.must(200, "POST", one(id, "/cache-disk/publish"), "").json(t, &published)
		if d := published.CacheDisk; published.Version.Version != 1 || d.LatestVersion != 1 || len(d.Versions) != 2 || d.Versions[0].SourceMachineID != id ||
			d.Versions[0].SHA256 == d.Versions[1].SHA256 || d.SizeGB != 20 {
			t.Errorf("%+v", published)
		}
		var restored machine
		r.must(201, "POST", "/v1/checkpoints/"+p.ID+"/restore", `{"name":"restored"}`).json(t, &restored)
		r.restart()
		for name, tt := range map[string]struct{ id, want string }{
			"itself": {id, "two"}, "branch": {b.ID, "one"}, "restored": {restored.ID, "one"},
			"later": {r.create(`,"cacheDisk":{"cache":"deps"}`), "two"},
		} {
			if a := r.do("GET", one(tt.id, "/files/deps/a"), ""); a.body != tt.want {
				t.Errorf("%s: %s, want %s", name, a, tt.want)
			}
		}
		first := r.create(`,"cacheDisk":{"cache":"deps","version":0,"mountPath":"/other"}`)
		if a := r.do("GET", one(first, "/files/other/a"), ""); a.status != 404 {
			t.Errorf("the first version: %s", a)
		}
	})
}

// A slot is empty until a restore puts a disk into it.
func TestCacheSlot(t *testing.T) {
	r := newRig(t, nil)
	for name, size := range map[string]string{"slot": "10", "fits": "10", "large": "11"} {
		r.must(201, "POST", "/v1/cache-disks", `{"name":"`+name+`","sizeGb":`+size+`}`)
	}
	id := r.up(`,"cacheDisk":{"cache":"slot","slot":true,"mountPath":"/there"}`)
	p := "/v1/checkpoints/" + r.capture(id).ID + "/restore"
	plain := "/v1/checkpoints/" + r.capture(r.up("")).ID + "/restore"
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{p, `{"name":"a","cacheDisk":{"cache":"large"}}`, 422},
		{plain, `{"name":"a","cacheDisk":{"cache":"fits"}}`, 422},
		{p, `{"name":"a","cacheDisk":{"cache":"fits","version":1}}`, 404},
		{p, `{"name":"a","cacheDisk":{"cache":"fits"}}`, 201},
		{plain, `{"name":"b"}`, 201},
	} {
		if a := r.do("POST", tt.path, tt.body); a.status != tt.status {
			t.Errorf("%s: %s, want %d", tt.body, a, tt.status)
		}
	}
}

func TestCacheDiskRefused(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Keys = []cloud.Key{{Token: "other", Account: "other"}} })
	var d cacheDisk
	r.must(201, "POST", "/v1/cache-disks", `{"name":"deps"}`).json(t, &d)
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/cache-disks", `{}`, 422},
		{"POST", "/v1/cache-disks", `{"name":"../x"}`, 400},
		{"POST", "/v1/cache-disks", `{"name":""}`, 400},
		{"POST", "/v1/cache-disks", `{"name":"x","mountPath":"/a/../b"}`, 400},
		{"POST", "/v1/cache-disks", `{"name":"x","mountPath":"/"}`, 400},
		{"POST", "/v1/machines", withSource(`,"cacheDisk":{"cache":"deps","version":1}`), 404},
		{"POST", "/v1/machines", withSource(`,"cacheDisk":{"cache":"deps","mountPath":"rel"}`), 400},
		{"POST", one(r.create(""), "/cache-disk/publish"), "", 409},
		{"GET", "/v1/cache-disks/..", "", 404},
		{"DELETE", "/v1/cache-disks/none", "", 404},
	} {
		if a := r.do(tt.method, tt.path, tt.body); a.status != tt.status {
			t.Errorf("%s %s %s: %s", tt.method, tt.path, tt.body, a)
		}
	}
	for _, path := range []string{"/v1/cache-disks/deps", "/v1/cache-disks/" + d.ID} {
		r.must(404, "GET", path, "", "Authorization", "Bearer other")
		r.must(404, "DELETE", path, "", "Authorization", "Bearer other")
	}
	r.must(204, "DELETE", "/v1/cache-disks/"+d.ID, "")
	if _, err := os.Stat(filepath.Join(r.o.DataDir, "caches", d.ID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	poor := newRig(t, func(o *cloud.Options) {
		p := cloud.DefaultPlan()
		p.CacheDisks = false
		o.Plan = &p
	})
	for _, tt := range []struct{ method, path, body string }{
		{"POST", "/v1/machines", withSource(`,"cacheDisk":{"cache":"deps"}`)}, {"GET", "/v1/cache-disks/x", ""}, {"DELETE", "/v1/cache-disks/x", ""},
	} {
		if a := poor.do(tt.method, tt.path, tt.body); a.status != 402 || !strings.Contains(a.body, "Pro plan") {
			t.Errorf("%s %s: %s", tt.method, tt.path, a)
		}
	}
}
