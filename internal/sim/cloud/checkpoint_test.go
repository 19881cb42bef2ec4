package cloud_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// point is what tests look at in a checkpoint.
type point struct {
	ID, MachineID, Status, Arch, DownloadURL string
	SizeBytes                                int64
}

// capture makes a checkpoint of a machine.
func (r *rig) capture(id string) point {
	r.t.Helper()
	var p point
	r.must(201, "POST", one(id, "/checkpoints"), "").json(r.t, &p)
	return p
}

func TestCheckpoint(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		id := r.up(`,"name":"m","env":{"A":"1"},"workdir":"/tmp","labels":{"k":"v"},"network":{"mode":"open"},"ports":[{"port":80}],"resources":{"cpus":2,"memoryMb":512}`)
		r.must(204, "PUT", one(id, "/files/root/f"), "then")
		p := r.capture(id)
		if p.Status != "available" || p.MachineID != id || p.SizeBytes == 0 || p.DownloadURL != "/v1/checkpoints/"+p.ID+"/download" {
			t.Errorf("%+v", p)
		}
		r.must(204, "PUT", one(id, "/files/root/f"), "later")
		var m machine
		r.must(201, "POST", "/v1/checkpoints/"+p.ID+"/restore", `{"name":"again"}`).json(t, &m)
		if m.State != "stopped" || m.Network["mode"] != "blocked" || m.Env["A"] != "1" || m.Resources.CPUs != 2 || !m.Branchable || len(m.Labels) != 0 {
			t.Errorf("%+v", m)
		}
		if a := r.must(200, "GET", one(m.ID, "/files/root/f"), ""); a.body != "then" {
			t.Errorf("restored: %q", a.body)
		}
		r.must(409, "DELETE", "/v1/checkpoints/"+p.ID, "")
		r.restart()
		r.must(409, "DELETE", "/v1/checkpoints/"+p.ID, "")
		r.must(204, "DELETE", one(m.ID, ""), "")
		r.must(200, "POST", one(id, "/rollback"), "")
		if a := r.must(200, "GET", one(id, "/files/root/f"), ""); a.body != "then" {
			t.Errorf("rolled back: %q", a.body)
		}
		r.must(204, "DELETE", "/v1/checkpoints/"+p.ID, "")
		for _, a := range []*answer{r.do("GET", "/v1/checkpoints/"+p.ID, ""), r.do("DELETE", "/v1/checkpoints/"+p.ID, "")} {
			if a.status != 404 {
				t.Errorf("%s", a)
			}
		}
		if left, err := os.ReadDir(filepath.Join(r.o.DataDir, "checkpoints")); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestCheckpointRefused(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Keys = []cloud.Key{{Token: "other", Account: "other"}} })
	id := r.create(`,"name":"m"`)
	r.must(409, "POST", one(id, "/checkpoints"), "")
	r.must(409, "POST", one(id, "/checkpoints?wait=false"), "")
	r.must(400, "POST", one(id, "/checkpoints?wait=maybe"), "")
	r.must(409, "POST", one(id, "/rollback"), "{}")
	r.must(404, "POST", one(id, "/rollback"), `{"checkpointId":"none"}`)
	r.must(200, "POST", one(id, "/start"), "")
	p := "/v1/checkpoints/" + r.capture(id).ID
	for body, status := range map[string]int{
		`{}`: 422, `{"name":"m"}`: 409, `{"name":"a/b"}`: 400, `{"name":"x","network":{"mode":"allowCidrs"}}`: 400, `{"name":"x","network":"open"}`: 422,
		`{"name":"x","cacheDisk":{"cache":"none"}}`: 404,
	} {
		if a := r.do("POST", p+"/restore", body); a.status != status {
			t.Errorf("%s: %s, want %d", body, a, status)
		}
	}
	for _, tt := range []struct{ method, path string }{{"GET", p}, {"DELETE", p}, {"GET", p + "/download"}, {"POST", p + "/restore"}, {"POST", p + "/complete"}} {
		if a := r.do(tt.method, tt.path, `{"name":"x"}`, "Authorization", "Bearer other"); a.status != 404 {
			t.Errorf("%s %s of somebody else's: %s", tt.method, tt.path, a)
		}
	}
	r.must(409, "POST", p+"/complete", "")
	for _, size := range []string{"0", "100000000000000000"} {
		r.must(422, "POST", "/v1/checkpoints", `{"sizeBytes":`+size+`}`)
	}
}

// A checkpoint that nobody waits for is there later, or has failed.
func TestCheckpointLater(t *testing.T) {
	inner := script.New(programs)
	copied := make(chan error)
	g := &guestWith{Guest: inner, copy: func(ctx context.Context, dst, src string) error {
		if err := <-copied; err != nil {
			return err
		}
		return inner.Copy(ctx, dst, src)
	}}
	r := newRig(t, func(o *cloud.Options) { o.Guest = g })
	id := r.up("")
	for want, err := range map[string]error{"available": nil, "failed": errors.New("no room")} {
		var p point
		r.must(202, "POST", one(id, "/checkpoints?wait=false"), "").json(t, &p)
		if p.Status != "creating" {
			t.Errorf("%+v", p)
		}
		path := "/v1/checkpoints/" + p.ID
		r.must(409, "GET", path+"/download", "")
		r.must(409, "POST", path+"/restore", `{"name":"x"}`)
		copied <- err
		r.until("it is "+want, func() bool { return strings.Contains(r.must(200, "GET", path, "").body, `"status":"`+want+`"`) })
	}
	var list []point
	r.must(200, "GET", one(id, "/checkpoints"), "").json(t, &list)
	if len(list) != 2 {
		t.Errorf("%+v", list)
	}
	go func() { copied <- errors.New("no room") }()
	if a := r.do("POST", one(id, "/checkpoints"), ""); a.status != 502 || !strings.Contains(a.body, "no room") {
		t.Errorf("%s", a)
	}
	if o := r.exec(id, "echo"); o.ExitCode != 0 { // it is not left frozen
		t.Errorf("%+v", o)
	}
}

// download returns the file of a checkpoint.
func (r *rig) download(p point) string {
	r.t.Helper()
	a := r.must(200, "GET", p.DownloadURL, "")
	if int64(len(a.body)) != p.SizeBytes {
		r.t.Errorf("%d bytes came of %d", len(a.body), p.SizeBytes)
	}
	return a.body
}

// upload sends a file in parts and returns the checkpoint and the answer to its completion.
func (r *rig) upload(file string) (point, *answer) {
	r.t.Helper()
	var begun struct {
		Checkpoint    point
		PartSizeBytes int
		UploadURLs    []string `json:"uploadUrls"`
		ExpiresAt     string
	}
	r.must(201, "POST", "/v1/checkpoints", `{"sizeBytes":`+strconv.Itoa(len(file))+`}`).json(r.t, &begun)
	for i, url := range begun.UploadURLs {
		part := file[i*begun.PartSizeBytes : min(len(file), (i+1)*begun.PartSizeBytes)]
		path, ok := strings.CutPrefix(url, r.url)
		if !ok {
			r.t.Fatalf("the address %s is elsewhere", url)
		}
		if i == 0 {
			r.must(409, "POST", "/v1/checkpoints/"+begun.Checkpoint.ID+"/complete", "")
			r.must(400, "PUT", path, part) // with a key
			r.must(400, "PUT", path, part+"x", "Authorization", "")
			r.must(403, "PUT", path+"0", part, "Authorization", "")
			r.must(404, "PUT", strings.Replace(path, "/0?", "/99999?", 1), part, "Authorization", "")
			res, err := r.send(r.t.Context(), "PUT", path, io.MultiReader(strings.NewReader(part)), "Authorization", "")
			if err != nil || res.StatusCode != 411 {
				r.t.Errorf("without a length: %v, %v", res, err)
			}
			if err == nil {
				res.Body.Close()
			}
		}
		r.must(200, "PUT", path, part, "Authorization", "")
	}
	return begun.Checkpoint, r.do("POST", "/v1/checkpoints/"+begun.Checkpoint.ID+"/complete", "")
}

// A checkpoint moves from one server to another by its file, in parts, also to a local one; what is no checkpoint is refused.
func TestMoveCheckpoint(t *testing.T) {
	small := func(o *cloud.Options) { o.PartSize = 1000 }
	from, to := newRig(t, small), newRig(t, small)
	id := from.up(`,"env":{"A":"1"}`)
	from.must(204, "PUT", one(id, "/files/root/f"), string(randomBytes(5000)))
	file := from.download(from.capture(id))
	p, a := to.upload(file)
	if p.Status != "uploading" || p.DownloadURL != "" || a.status != 200 || !strings.Contains(a.body, `"status":"available"`) {
		t.Fatalf("%+v, %s", p, a)
	}
	var m machine
	to.must(201, "POST", "/v1/checkpoints/"+p.ID+"/restore", `{"name":"moved","network":{"mode":"allowCidrs","cidrs":["127.0.0.0/8"]}}`).json(t, &m)
	if m.Network["mode"] != "allowCidrs" || m.Env["A"] != "1" {
		t.Errorf("%+v", m)
	}
	if a := to.must(200, "GET", one(m.ID, "/files/root/f"), ""); a.body != string(randomBytes(5000)) {
		t.Errorf("%d bytes", len(a.body))
	}
	for name, bad := range map[string]string{"garbage": "garbage", "cut": file[:len(file)/2], "empty shape": "smolcheckpoint/stand-in {}\n"} {
		p, a := to.upload(bad)
		if a.status != 422 {
			t.Errorf("%s: %s", name, a)
		}
		if a := to.must(200, "GET", "/v1/checkpoints/"+p.ID, ""); !strings.Contains(a.body, `"status":"failed"`) {
			t.Errorf("%s: %s", name, a)
		}
		to.must(409, "POST", "/v1/checkpoints/"+p.ID+"/restore", `{"name":"x"}`)
	}
	localRestores(t, file, string(randomBytes(5000)))
}

// localRestores makes a machine of the stand-in of the local service from the file.
func localRestores(t *testing.T, file, want string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m.smolcheckpoint")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := local.New(&local.Options{Guest: script.New(programs), DataDir: t.TempDir(), Supervisor: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer s.KillAll()
	call := func(method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		w := &memory{header: http.Header{}}
		s.ServeHTTP(w, req)
		return w.b.String()
	}
	if reply := call("POST", "/api/v1/machines", fmt.Sprintf(`{"name":"m","from":%q}`, name)); !strings.Contains(reply, `"name":"m"`) {
		t.Fatalf("%s", reply)
	}
	if got := call("GET", "/api/v1/machines/m/files/root/f", ""); got != want {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}

// memory keeps a reply.
type memory struct {
	header http.Header
	b      bytes.Buffer
}

func (m *memory) Header() http.Header         { return m.header }
func (m *memory) WriteHeader(int)             {}
func (m *memory) Write(p []byte) (int, error) { return m.b.Write(p) }

func TestExport(t *testing.T) {
	bothGuests(t, func(t *testing.T, r *rig) {
		id := r.up(`,"name":"m"`)
		r.must(409, "POST", one(id, "/export"), "")
		r.must(204, "PUT", one(id, "/files/root/f"), "x")
		r.must(200, "POST", one(id, "/stop"), "")
		r.must(400, "POST", one(id, "/export"), `{"tag":"a b"}`)
		for range 2 { // the same reference again
			r.must(200, "POST", one(id, "/export"), `{"tag":"v1"}`)
		}
		for _, ref := range []string{"tenants/tenant-1/m:v1", "registry.smolmachines.com/tenants/tenant-1/m:v1"} {
			var m machine
			r.must(201, "POST", "/v1/machines", `{"source":{"type":"smolmachine","reference":"`+ref+`"}}`).json(t, &m)
			if a := r.do("GET", one(m.ID, "/files/root/f"), ""); a.body != "x" {
				t.Errorf("%s: %s", ref, a)
			}
		}
		r.must(200, "POST", one(r.create(`,"name":"never"`), "/export"), "")
	})
}
