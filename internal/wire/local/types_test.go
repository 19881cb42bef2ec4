package localwire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

// A field in which absent, empty and set are three different things must keep them apart in both directions: an allow-list that
// vanishes on its way turns "deny all" into "allow all".
func TestThreeStates(t *testing.T) {
	type row struct {
		name  string
		value any    // marshalled
		json  string // and unmarshalled
	}
	create := func(r localwire.CreateMachineRequest) any { return r }
	info := func(m localwire.MachineInfo) any {
		m.Mounts, m.Ports = []localwire.MountInfo{}, []localwire.PortSpec{}
		return m
	}
	const infoHead = `{"name":"m","state":"created","cpus":4,"memoryMb":8192,"mounts":[],"ports":[],"network":false,"gpu":false,"cuda":false,`
	const infoTail = `"storageGb":20,"overlayGb":10,"forkable":false,"forkpointHeld":false,"createdAt":1}`
	base := localwire.MachineInfo{Name: "m", State: "created", CPUs: 4, MemoryMb: 8192, StorageGb: 20, OverlayGb: 10, CreatedAt: 1}
	with := func(set func(*localwire.MachineInfo)) any {
		m := base
		set(&m)
		return info(m)
	}
	rows := []row{
		{"create, allowedCidrs absent", create(localwire.CreateMachineRequest{}), `{"network":false}`},
		{"create, allowedCidrs empty", create(localwire.CreateMachineRequest{AllowedCIDRs: []string{}}), `{"network":false,"allowedCidrs":[]}`},
		{
			"create, allowedCidrs set", create(localwire.CreateMachineRequest{AllowedCIDRs: []string{"10.0.0.0/8"}}),
			`{"network":false,"allowedCidrs":["10.0.0.0/8"]}`,
		},
		{"create, allowedHosts absent", create(localwire.CreateMachineRequest{Network: true}), `{"network":true}`},
		{"create, allowedHosts empty", create(localwire.CreateMachineRequest{AllowedHosts: []string{}}), `{"network":false,"allowedHosts":[]}`},
		{
			"create, allowedHosts set", create(localwire.CreateMachineRequest{AllowedHosts: []string{"example.com"}}),
			`{"network":false,"allowedHosts":["example.com"]}`,
		},
		{"create, name empty", create(localwire.CreateMachineRequest{Name: new("")}), `{"name":"","network":false}`},
		{"create, name set", create(localwire.CreateMachineRequest{Name: new("m")}), `{"name":"m","network":false}`},
		{"create, cpus zero", create(localwire.CreateMachineRequest{CPUs: new(uint8(0))}), `{"cpus":0,"network":false}`},
		{"create, cpus set", create(localwire.CreateMachineRequest{CPUs: new(uint8(2))}), `{"cpus":2,"network":false}`},
		{"info, allowedCidrs absent", with(func(*localwire.MachineInfo) {}), infoHead + infoTail},
		{"info, allowedCidrs empty", with(func(m *localwire.MachineInfo) { m.AllowedCIDRs = []string{} }), infoHead + `"allowedCidrs":[],` + infoTail},
		{
			"info, allowedCidrs set", with(func(m *localwire.MachineInfo) { m.AllowedCIDRs = []string{"1.1.1.1/32"} }),
			infoHead + `"allowedCidrs":["1.1.1.1/32"],` + infoTail,
		},
		{"info, allowedHosts empty", with(func(m *localwire.MachineInfo) { m.AllowedHosts = []string{} }), infoHead + `"allowedHosts":[],` + infoTail},
		{
			"info, allowedHosts set", with(func(m *localwire.MachineInfo) { m.AllowedHosts = []string{"a.example"} }),
			infoHead + `"allowedHosts":["a.example"],` + infoTail,
		},
		{"exec, timeoutSecs absent", localwire.ExecRequest{Command: []string{"true"}}, `{"command":["true"]}`},
		{"exec, timeoutSecs zero", localwire.ExecRequest{Command: []string{"true"}, TimeoutSecs: new(uint64(0))}, `{"command":["true"],"timeoutSecs":0}`},
		{"exec, timeoutSecs set", localwire.ExecRequest{Command: []string{"true"}, TimeoutSecs: new(uint64(9))}, `{"command":["true"],"timeoutSecs":9}`},
		{"exec, command absent", localwire.ExecRequest{}, `{}`},
		{"exec, command empty", localwire.ExecRequest{Command: []string{}}, `{"command":[]}`},
		{"exec, stdin empty", localwire.ExecRequest{Command: []string{"cat"}, Stdin: new("")}, `{"command":["cat"],"stdin":""}`},
		{"run, timeoutSecs zero", localwire.RunRequest{Image: "alpine", Command: []string{"true"}, TimeoutSecs: new(uint64(0))}, `{"command":["true"],"image":"alpine","timeoutSecs":0}`},
		{"branch, readyTimeoutSecs zero", localwire.BranchRequest{Name: "c", ReadyTimeoutSecs: new(uint64(0))}, `{"name":"c","readyTimeoutSecs":0}`},
		{"resize, one disk", localwire.ResizeMachineRequest{StorageGb: new(uint64(0))}, `{"storageGb":0}`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := json.Marshal(r.value)
			if err != nil {
				t.Fatal(err)
			}
			wiretest.SameJSON(t, r.json, string(got))
			back := decodeLike(t, r.value, r.json)
			if diff := cmp.Diff(r.value, back); diff != "" {
				t.Errorf("decoded (-sent +decoded):\n%s", diff)
			}
		})
	}
}

// decodeLike decodes src into a value of v's type.
func decodeLike(t *testing.T, v any, src string) any {
	t.Helper()
	var err error
	switch v.(type) {
	case localwire.CreateMachineRequest:
		var r localwire.CreateMachineRequest
		err = json.Unmarshal([]byte(src), &r)
		v = r
	case localwire.MachineInfo:
		var r localwire.MachineInfo
		err = json.Unmarshal([]byte(src), &r)
		v = r
	case localwire.ExecRequest:
		var r localwire.ExecRequest
		err = json.Unmarshal([]byte(src), &r)
		v = r
	case localwire.RunRequest:
		var r localwire.RunRequest
		err = json.Unmarshal([]byte(src), &r)
		v = r
	case localwire.BranchRequest:
		var r localwire.BranchRequest
		err = json.Unmarshal([]byte(src), &r)
		v = r
	case localwire.ResizeMachineRequest:
		var r localwire.ResizeMachineRequest
		err = json.Unmarshal([]byte(src), &r)
		v = r
	default:
		t.Fatalf("no decoder for %T", v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A server newer than this project sends what this project does not know.
func TestRepliesDecodeTolerantly(t *testing.T) {
	const reply = `{"name":"m","state":"hibernated","cpus":300,"memoryMb":5000000000,"mounts":[{"tag":"smolvm0","source":"/a","target":"/b","readonly":true,
"uid":7}],"ports":null,"network":true,"gpu":false,"cuda":false,"networkBackend":"carrier-pigeon","allowedCidrs":null,"storageGb":20,"overlayGb":10,
"branchable":true,"egressBytes":0,"createdAt":1757500000,"egressSignals":[{"anything":[1]}],"labels":{"a":"b"}}`
	var m localwire.MachineInfo
	if err := json.Unmarshal([]byte(reply), &m); err != nil {
		t.Fatal(err)
	}
	want := localwire.MachineInfo{
		Name: "m", State: "hibernated", CPUs: 300, MemoryMb: 5_000_000_000, Network: true, NetworkBackend: "carrier-pigeon",
		Mounts:    []localwire.MountInfo{{Tag: "smolvm0", Source: "/a", Target: "/b", ReadOnly: true}},
		StorageGb: 20, OverlayGb: 10, Branchable: new(true), EgressBytes: new(uint64(0)), CreatedAt: 1757500000,
		EgressSignals: []json.RawMessage{json.RawMessage(`{"anything":[1]}`)},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var e localwire.ErrorEnvelope
	if err := json.Unmarshal([]byte(`{"error":"no","code":"TEAPOT","detail":{}}`), &e); err != nil || e.Code != "TEAPOT" {
		t.Errorf("envelope %+v, %v", e, err)
	}
}

func TestCanBranch(t *testing.T) {
	for _, r := range []struct {
		reply string
		want  bool
	}{
		{`{}`, false},
		{`{"forkable":true}`, true},
		{`{"forkable":false,"branchable":true}`, true},
		{`{"forkable":false,"branchable":false}`, false},
	} {
		var m localwire.MachineInfo
		if err := json.Unmarshal([]byte(r.reply), &m); err != nil {
			t.Fatal(err)
		}
		if got := m.CanBranch(); got != r.want {
			t.Errorf("%s: CanBranch() = %t", r.reply, got)
		}
	}
}

// No request sends null for what was left out: a server refuses null where a list or a bool is expected.
func TestZeroRequestsSendNoNull(t *testing.T) {
	for _, v := range []any{
		localwire.CreateMachineRequest{},
		localwire.CreateMachineRequest{Restart: &localwire.RestartSpec{}, Mounts: []localwire.MountSpec{{}}, Env: []localwire.EnvVar{{}}},
		localwire.StartMachineRequest{},
		localwire.StartMachineRequest{RegistryAuth: &localwire.RegistryAuth{}},
		localwire.ResizeMachineRequest{},
		localwire.ExportRequest{},
		localwire.BranchRequest{},
		localwire.ReleaseRequest{},
		localwire.ExecRequest{},
		localwire.RunRequest{},
		localwire.PullImageRequest{},
	} {
		wiretest.NoNull(t, v)
	}
}
