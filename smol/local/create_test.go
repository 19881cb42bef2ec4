package local_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

// sent creates the machine of the spec at a server that agrees, and returns the request's body.
func sent(t *testing.T, spec smol.Spec) map[string]any {
	t.Helper()
	s := serve(t, answers{"POST /machines": says(machine("created"))})
	if _, err := s.backend().Create(t.Context(), &spec); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(s.requests()[0], "POST /machines ")
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return fields
}

// TestEgressIsAlwaysStated: an absent allowedCidrs opens the machine to everything as soon as anything switches its network on.
func TestEgressIsAlwaysStated(t *testing.T) {
	type egress map[string]any
	for _, tt := range []struct {
		name  string
		net   smol.Network
		ports []smol.Port
		want  egress
	}{
		{"blocked", smol.Network{}, nil, egress{"network": false, "allowedCidrs": []any{}}},
		{"blocked with a port", smol.Network{}, []smol.Port{{Guest: 80, Host: 8080}}, egress{"network": false, "allowedCidrs": []any{}}},
		{"blocked by empty lists", smol.Network{AllowCIDRs: []string{}, AllowHosts: []string{}}, nil, egress{"network": false, "allowedCidrs": []any{}}},
		{"open", smol.Network{Open: true}, nil, egress{"network": true}},
		{"open with empty lists", smol.Network{Open: true, AllowCIDRs: []string{}, AllowHosts: []string{}}, nil, egress{"network": true}},
		{"addresses", smol.Network{AllowCIDRs: []string{"1.1.1.1", "10.0.0.0/8"}}, nil, egress{"network": true, "allowedCidrs": []any{"1.1.1.1", "10.0.0.0/8"}}},
		{"hosts", smol.Network{AllowHosts: []string{"example.com"}}, nil, egress{"network": true, "allowedCidrs": []any{}, "allowedHosts": []any{"example.com"}}},
		{"both", smol.Network{AllowCIDRs: []string{"::/0"}, AllowHosts: []string{"a.b"}}, nil, egress{"network": true, "allowedCidrs": []any{"::/0"}, "allowedHosts": []any{"a.b"}}},
		{"a list wins over open", smol.Network{Open: true, AllowHosts: []string{"a.b"}}, nil, egress{"network": true, "allowedCidrs": []any{}, "allowedHosts": []any{"a.b"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := egress{}
			for k, v := range sent(t, smol.Spec{Name: "m", Network: tt.net, Ports: tt.ports}) {
				if k == "network" || strings.HasPrefix(k, "allowed") {
					got[k] = v
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateOnTheWire(t *testing.T) {
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	target := filepath.Join(real, "target")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		link = target // links need a privilege there
	}
	sleeper := []any{"sh", "-c", "while true; do sleep 3600; done"}
	for _, tt := range []struct {
		name string
		spec smol.Spec
		want map[string]any
	}{
		{"the least", smol.Spec{Name: "m"}, map[string]any{"name": "m", "network": false, "allowedCidrs": []any{}}},
		{"image", smol.Spec{Name: "m", Image: "alpine", Network: smol.Network{Open: true}}, map[string]any{"name": "m", "image": "alpine", "network": true, "cmd": sleeper}},
		{"bare with env and dir", smol.Spec{Name: "m", Env: map[string]string{"A": "b"}, Dir: "/w", Network: smol.Network{Open: true}}, map[string]any{"name": "m", "network": true}},
		{"everything", smol.Spec{
			Name: "m", Image: "alpine", Command: []string{"serve", "-p", "80"}, Env: map[string]string{"B": "2", "A": "1=<>&"}, Dir: "/w",
			Resources: smol.Resources{CPUs: 2, MemoryMiB: 512, DiskGiB: 3, OverlayGiB: 4}, Network: smol.Network{Open: true},
			Ports:  []smol.Port{{Guest: 80, Host: 8080}, {Guest: 80, Host: 8081}},
			Mounts: []smol.Mount{{Source: link, Target: "/data", ReadOnly: true}, {Source: dir, Target: "/src"}},
		}, map[string]any{
			"name": "m", "image": "alpine", "cmd": []any{"serve", "-p", "80"}, "workdir": "/w", "network": true,
			"env":  []any{map[string]any{"name": "A", "value": "1=<>&"}, map[string]any{"name": "B", "value": "2"}},
			"cpus": 2.0, "memoryMb": 512.0, "storageGb": 3.0, "overlayGb": 4.0,
			"ports": []any{map[string]any{"host": 8080.0, "guest": 80.0}, map[string]any{"host": 8081.0, "guest": 80.0}},
			"mounts": []any{
				map[string]any{"source": target, "target": "/data", "readonly": true},
				map[string]any{"source": real, "target": "/src"},
			},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sent(t, tt.spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFreePorts wants ports that can be listened on, each another, and none that was asked for.
func TestFreePorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	spec := smol.Spec{Name: "m", Ports: []smol.Port{{Guest: 1}, {Guest: 2, Host: asked}, {Guest: 3}, {Guest: 4}}}
	ports := sent(t, spec)["ports"].([]any)
	seen := map[float64]bool{}
	for i, p := range ports {
		host, guest := p.(map[string]any)["host"].(float64), p.(map[string]any)["guest"].(float64)
		if host == 0 || seen[host] || guest != float64(i+1) {
			t.Errorf("port %d is %v", i, p)
		}
		seen[host] = true
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", int(host)))
		if err != nil {
			t.Errorf("port %d cannot be used: %v", i, err)
			continue
		}
		_ = l.Close()
	}
	if !seen[float64(asked)] || len(ports) != 4 {
		t.Errorf("ports %v", ports)
	}
	if spec.Ports[0].Host != 0 {
		t.Error("the caller's spec was written")
	}
}

func TestCreateRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := serve(t, nil)
	b := s.backend()
	for field, spec := range map[string]smol.Spec{
		"Spec.Name":                   {},
		"Spec.Name ":                  {Name: "a--b"},
		"Spec.Image":                  {Image: "alpine latest"},
		"Spec.Image ":                 {Image: "./image.tar"},
		"Spec.Image  ":                {Image: "image.tar.gz"},
		"Spec.Image   ":               {Image: "-"},
		"Spec.Image    ":              {Image: "local:x"},
		"Spec.Command":                {Command: []string{"sleep", "1"}},
		"Spec.Command[0]":             {Image: "alpine", Command: []string{"a\x00"}},
		`Spec.Env["A=B"]`:             {Env: map[string]string{"A=B": ""}},
		`Spec.Env["1A"]`:              {Env: map[string]string{"1A": ""}},
		`Spec.Env["A"]`:               {Env: map[string]string{"A": "\xff"}},
		"Spec.Dir":                    {Dir: "w"},
		"Spec.Resources.CPUs":         {Resources: smol.Resources{CPUs: -1}},
		"Spec.Resources.CPUs ":        {Resources: smol.Resources{CPUs: 256}},
		"Spec.Resources.MemoryMiB":    {Resources: smol.Resources{MemoryMiB: 63}},
		"Spec.Resources.DiskGiB":      {Resources: smol.Resources{DiskGiB: -1}},
		"Spec.Network.AllowCIDRs[0]":  {Network: smol.Network{AllowCIDRs: []string{"10.0.0.0/33"}}},
		"Spec.Network.AllowCIDRs[0] ": {Network: smol.Network{AllowCIDRs: []string{""}}},
		"Spec.Network.AllowHosts[1]":  {Network: smol.Network{AllowHosts: []string{"a.b", "*.c"}}},
		"Spec.Ports[0].Guest":         {Ports: []smol.Port{{Host: 80}}},
		"Spec.Ports[0].Guest ":        {Ports: []smol.Port{{Guest: 65536}}},
		"Spec.Ports[0].Host":          {Ports: []smol.Port{{Guest: 80, Host: -1}}},
		"Spec.Ports[1].Host":          {Ports: []smol.Port{{Guest: 80, Host: 80}, {Guest: 81, Host: 80}}},
		"Spec.Mounts[0].Source":       {Mounts: []smol.Mount{{Source: "src", Target: "/a"}}},
		"Spec.Mounts[0].Source ":      {Mounts: []smol.Mount{{Source: file, Target: "/a"}}},
		"Spec.Mounts[0].Source  ":     {Mounts: []smol.Mount{{Source: filepath.Join(dir, "none"), Target: "/a"}}},
		"Spec.Mounts[0].Source   ":    {Mounts: []smol.Mount{{Source: "s3://bucket", Target: "/a"}}},
		"Spec.Mounts[0].Target":       {Mounts: []smol.Mount{{Source: dir, Target: "a"}}},
		"Spec.Mounts[0].Target ":      {Mounts: []smol.Mount{{Source: dir, Target: "/a/../b"}}},
		"Spec.Mounts[1].Target":       {Mounts: []smol.Mount{{Source: dir, Target: "/a"}, {Source: dir, Target: "/a/"}}},
	} {
		if spec.Name == "" && field != "Spec.Name" {
			spec.Name = "m"
		}
		_, err := b.Create(t.Context(), &spec)
		e := asError(t, err)
		if e.Code != smol.CodeInvalid || e.Op != "create" || !strings.Contains(e.Message, strings.TrimSpace(field)) {
			t.Errorf("%s: %+v", field, e)
		}
	}
	for field, spec := range map[string]smol.Spec{
		"Spec.Labels":    {Labels: map[string]string{"a": "b"}},
		"Spec.Ephemeral": {Ephemeral: true},
		"Spec.AutoStop":  {AutoStop: time.Hour},
		"Spec.TTL":       {TTL: time.Hour},
	} {
		spec.Name = "m"
		_, err := b.Create(t.Context(), &spec)
		if e := asError(t, err); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(e.Message, field) || e.Hint == "" {
			t.Errorf("%s: %+v", field, e)
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestCreateAnswers(t *testing.T) {
	const noNetwork = "config operation failed: create machine: image 'alpine' must be pulled from a registry, but this machine has no network, so the pull can never succeed."
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		is     error
		code   smol.Code
		hint   string
	}{
		{"taken", fails(409, "CONFLICT", "machine 'm' already exists"), smol.ErrExists, smol.CodeExists, "another name"},
		{"taken in the database", fails(409, "CONFLICT", "machine 'm' already exists or is being created"), smol.ErrExists, smol.CodeExists, "another name"},
		{"being created", fails(409, "CONFLICT", "machine 'm' is being created by another request"), smol.ErrExists, smol.CodeExists, "other request"},
		{"port", fails(409, "PORT_IN_USE", "Address already in use (os error 98)"), smol.ErrConflict, smol.CodeConflict, "Port.Host"},
		{"image without network", fails(400, "BAD_REQUEST", noNetwork), smol.ErrInvalid, smol.CodeInvalid, "Spec.Network.AllowHosts"},
		{"protected directory", fails(400, "BAD_REQUEST", "mount operation failed: validate host path: source path on host is a protected system path and cannot be mounted: /etc"), smol.ErrInvalid, smol.CodeInvalid, ""},
		{"gave up", gaveUp, smol.ErrUnavailable, smol.CodeUnavailable, "look at the machine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{"POST /machines": tt.answer})
			_, err := s.backend().Create(t.Context(), &smol.Spec{Name: "m", Image: "alpine"})
			e := asError(t, err)
			if !errors.Is(err, tt.is) || e.Code != tt.code || !strings.Contains(e.Hint, tt.hint) || e.Message == "" {
				t.Errorf("got %+v", e)
			}
			if n := s.count("POST /machines"); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	const full = `{"name":"web-1","state":"running","cpus":2,"memoryMb":512,"pid":4711,
		"mounts":[{"tag":"smolvm0","source":"/src","target":"/dst","readonly":true}],"ports":[{"host":8080,"guest":80}],
		"network":true,"gpu":false,"cuda":false,"allowedCidrs":["1.1.1.1/32"],"allowedHosts":["a.b"],"storageGb":20,"overlayGb":10,
		"forkable":true,"forkpointHeld":false,"egressBytes":1,"createdAt":1790000000,"image":"docker.io/library/alpine:latest","newer":{"x":[1]}}`
	s := serve(t, answers{"GET /machines/web-1": says(full)})
	got, err := s.backend().Inspect(t.Context(), "web-1")
	if err != nil {
		t.Fatal(err)
	}
	want := &smol.Info{
		Name: "web-1", ID: "web-1", State: smol.StateRunning, RawState: "running", Image: "docker.io/library/alpine:latest",
		Resources: smol.Resources{CPUs: 2, MemoryMiB: 512, DiskGiB: 20, OverlayGiB: 10},
		Network:   smol.Network{AllowCIDRs: []string{"1.1.1.1/32"}, AllowHosts: []string{"a.b"}},
		Ports:     []smol.Port{{Guest: 80, Host: 8080}}, Mounts: []smol.Mount{{Source: "/src", Target: "/dst", ReadOnly: true}},
		Branchable: true, PID: 4711, CreatedAt: time.Unix(1790000000, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStates(t *testing.T) {
	for raw, want := range map[string]smol.State{
		"created": smol.StateStopped, "running": smol.StateRunning, "stopped": smol.StateStopped, "failed": smol.StateFailed,
		"unreachable": smol.StateUnreachable, "frozen": smol.StateFrozen, "paused": smol.StatePaused, "dreaming": "dreaming",
	} {
		s := serve(t, answers{"GET /machines/m": says(machine(raw))})
		info, err := s.backend().Inspect(t.Context(), "m")
		if err != nil || info.State != want || info.RawState != raw {
			t.Errorf("%s: %+v, %v", raw, info, err)
		}
	}
}

// TestNetworkOf reads back what the three states of the lists mean.
func TestNetworkOf(t *testing.T) {
	for fields, want := range map[string]smol.Network{
		`"network":false,"ports":[]`:                                                        {},
		`"network":false,"ports":[],"allowedCidrs":[]`:                                      {AllowCIDRs: []string{}},
		`"network":true,"ports":[]`:                                                         {Open: true},
		`"network":false,"ports":[{"host":1,"guest":1}]`:                                    {Open: true},
		`"network":false,"ports":[{"host":1,"guest":1}],"allowedCidrs":[]`:                  {AllowCIDRs: []string{}},
		`"network":true,"ports":[],"allowedCidrs":[],"allowedHosts":["a.b"]`:                {AllowCIDRs: []string{}, AllowHosts: []string{"a.b"}},
		`"network":false,"ports":[],"allowedHosts":["a.b"]`:                                 {AllowHosts: []string{"a.b"}},
		`"network":false,"ports":[],"allowedCidrs":["1.1.1.1/32"],"allowedHosts":[]`:        {AllowCIDRs: []string{"1.1.1.1/32"}, AllowHosts: []string{}},
		`"network":true,"ports":[],"allowedCidrs":null,"allowedHosts":null,"forkable":true`: {Open: true},
	} {
		s := serve(t, answers{"GET /machines/m": says(`{"name":"m","state":"stopped",` + fields + `}`)})
		info, err := s.backend().Inspect(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, info.Network); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
	}
}
