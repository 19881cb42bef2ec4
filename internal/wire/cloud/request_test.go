package cloudwire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/api"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

var (
	image   = cloudwire.MachineSource{Image: &cloudwire.ImageSource{Reference: "a"}}
	blocked = cloudwire.Network{Blocked: &cloudwire.BlockedNetwork{}}
)

// A field in which absent, empty and set are three different things must keep them apart in both directions.
func TestThreeStates(t *testing.T) {
	const head = `{"source":{"type":"image","reference":"a"},"network":{"mode":"blocked"}`
	create := func(set func(*cloudwire.CreateMachineRequest)) cloudwire.CreateMachineRequest {
		r := cloudwire.CreateMachineRequest{Source: image, Network: blocked}
		if set != nil {
			set(&r)
		}
		return r
	}
	rows := map[string]func(t *testing.T){
		"branch, labels absent": func(t *testing.T) { bothWays(t, `{"name":"b"}`, cloudwire.BranchRequest{Name: "b"}) },
		"branch, labels empty": func(t *testing.T) {
			bothWays(t, `{"name":"b","labels":{}}`, cloudwire.BranchRequest{Name: "b", Labels: map[string]string{}})
		},
		"branch, labels set": func(t *testing.T) {
			bothWays(t, `{"name":"b","labels":{"k":"v"}}`, cloudwire.BranchRequest{Name: "b", Labels: map[string]string{"k": "v"}})
		},
		"batch, labels absent": func(t *testing.T) { bothWays(t, `{"count":2}`, cloudwire.BranchBatchRequest{Count: 2}) },
		"batch, labels empty": func(t *testing.T) {
			bothWays(t, `{"count":2,"labels":{}}`, cloudwire.BranchBatchRequest{Count: 2, Labels: map[string]string{}})
		},
		"batch, labels set": func(t *testing.T) {
			bothWays(t, `{"names":["x"],"labels":{"k":""}}`, cloudwire.BranchBatchRequest{Names: []string{"x"}, Labels: map[string]string{"k": ""}})
		},
		"restore, network absent": func(t *testing.T) { bothWays(t, `{"name":"r"}`, cloudwire.RestoreRequest{Name: "r"}) },
		"restore, network set": func(t *testing.T) {
			bothWays(t, `{"name":"r","network":{"mode":"blocked"}}`, cloudwire.RestoreRequest{Name: "r", Network: &blocked})
		},
		"create, autoStopSeconds absent": func(t *testing.T) { bothWays(t, head+`}`, create(nil)) },
		"create, autoStopSeconds zero": func(t *testing.T) {
			bothWays(t, head+`,"autoStopSeconds":0}`, create(func(r *cloudwire.CreateMachineRequest) { r.AutoStopSeconds = new(int64(0)) }))
		},
		"create, autoStopSeconds set": func(t *testing.T) {
			bothWays(t, head+`,"autoStopSeconds":900}`, create(func(r *cloudwire.CreateMachineRequest) { r.AutoStopSeconds = new(int64(900)) }))
		},
		"create, ttlSeconds zero": func(t *testing.T) {
			bothWays(t, head+`,"ttlSeconds":0}`, create(func(r *cloudwire.CreateMachineRequest) { r.TTLSeconds = new(int64(0)) }))
		},
		"create, cache disk of the latest version": func(t *testing.T) {
			bothWays(t, head+`,"cacheDisk":{"cache":"c"}}`, create(func(r *cloudwire.CreateMachineRequest) {
				r.CacheDisk = &cloudwire.CacheDiskRef{Cache: "c"}
			}))
		},
		"create, cache disk of the empty version": func(t *testing.T) {
			bothWays(t, head+`,"cacheDisk":{"cache":"c","version":0}}`, create(func(r *cloudwire.CreateMachineRequest) {
				r.CacheDisk = &cloudwire.CacheDiskRef{Cache: "c", Version: new(0)}
			}))
		},
		"exec, timeoutSeconds absent": func(t *testing.T) {
			bothWays(t, `{"command":["true"]}`, cloudwire.ExecRequest{Command: cloudwire.Command{Argv: []string{"true"}}})
		},
		"exec, timeoutSeconds zero": func(t *testing.T) {
			bothWays(t, `{"command":["true"],"timeoutSeconds":0}`,
				cloudwire.ExecRequest{Command: cloudwire.Command{Argv: []string{"true"}}, TimeoutSeconds: new(int64(0))})
		},
		"exec result, base64 absent": func(t *testing.T) {
			bothWays(t, `{"stdout":"a","stderr":"","durationMs":1,"machineId":"m","exitCode":0}`,
				cloudwire.ExecResult{Stdout: "a", DurationMs: 1, MachineID: "m", ExitCode: new(int32(0))})
		},
		"exec result, base64 empty": func(t *testing.T) {
			bothWays(t, `{"stdout":"a","stderr":"","stdoutB64":"","stderrB64":"","durationMs":1,"machineId":"m"}`,
				cloudwire.ExecResult{Stdout: "a", StdoutB64: new(""), StderrB64: new(""), DurationMs: 1, MachineID: "m"})
		},
		"info, labels absent": func(t *testing.T) { bothWays(t, `{"id":"m"}`, cloudwire.MachineInfo{ID: "m"}) },
		"info, labels empty": func(t *testing.T) {
			bothWays(t, `{"id":"m","labels":{}}`, cloudwire.MachineInfo{ID: "m", Labels: map[string]string{}})
		},
		"info, ready absent": func(t *testing.T) {
			bothWays(t, `{"id":"m","state":"started"}`, cloudwire.MachineInfo{ID: "m", State: "started"})
		},
		"info, ready false": func(t *testing.T) {
			bothWays(t, `{"id":"m","ready":false}`, cloudwire.MachineInfo{ID: "m", Ready: new(false)})
		},
		"info, branchGeneration zero": func(t *testing.T) {
			bothWays(t, `{"id":"m","branchGeneration":0}`, cloudwire.MachineInfo{ID: "m", BranchGeneration: new(0)})
		},
		"cost, amountDueMicros zero": func(t *testing.T) {
			bothWays(t, `{"cpuMicros":0,"memoryMicros":0,"execMicros":0,"totalMicros":7,"amountDueMicros":0}`,
				cloudwire.CostBreakdown{TotalMicros: 7, AmountDueMicros: new(int64(0))})
		},
	}
	for name, row := range rows {
		t.Run(name, row)
	}
}

// A body with both names of one field is refused by the service as one with a duplicate field.
func TestOneNameOfAFieldAtATime(t *testing.T) {
	for _, v := range []any{
		cloudwire.CreateMachineRequest{Source: image, Network: blocked, Branchable: true, Forkable: true},
		cloudwire.BranchRequest{Name: "b", Branchable: true, Forkable: true},
		cloudwire.BranchBatchRequest{Count: 1, Branchable: true, Forkable: true},
	} {
		if b, err := json.Marshal(v); err == nil || !strings.Contains(err.Error(), "set one") {
			t.Errorf("%T is encoded as %s, error %v", v, b, err)
		}
	}
	for _, r := range []struct {
		v    any
		want string
	}{
		{cloudwire.BranchRequest{Name: "b", Branchable: true}, `{"name":"b","branchable":true}`},
		{cloudwire.BranchRequest{Name: "b", Forkable: true}, `{"name":"b","forkable":true}`},
		{cloudwire.BranchBatchRequest{Count: 3, Forkable: true, FreezeSource: true}, `{"count":3,"forkable":true,"freezeSource":true}`},
		{cloudwire.PortsRequest{}, `{"ports":[]}`},
		{cloudwire.PortsRequest{Ports: []cloudwire.MachinePort{{Port: 80}}}, `{"ports":[{"port":80}]}`},
	} {
		b, err := json.Marshal(r.v)
		if err != nil {
			t.Fatal(err)
		}
		wiretest.SameJSON(t, r.want, string(b))
	}
}

func TestRequestsSendNoNull(t *testing.T) {
	command := cloudwire.Command{Argv: []string{"true"}}
	for _, v := range []any{
		cloudwire.CreateMachineRequest{Source: image, Network: cloudwire.Network{Allow: &cloudwire.AllowNetwork{}}},
		cloudwire.CreateMachineRequest{
			Source: image, Network: blocked, Resources: &cloudwire.MachineResources{}, Ports: []cloudwire.MachinePort{{}},
			Mounts: []cloudwire.VolumeMount{{}}, RemoteMounts: []cloudwire.RemoteMount{{}}, CacheDisk: &cloudwire.CacheDiskRef{},
		},
		cloudwire.ResizeRequest{},
		cloudwire.RollbackRequest{},
		cloudwire.ExportRequest{},
		cloudwire.ExecRequest{Command: command},
		cloudwire.CodeRequest{},
		cloudwire.SessionRequest{},
		cloudwire.PortsRequest{},
		cloudwire.ConnectTokenRequest{},
		cloudwire.BranchRequest{},
		cloudwire.BranchBatchRequest{},
		cloudwire.UploadRequest{},
		cloudwire.RestoreRequest{},
		cloudwire.AssignRequest{},
		cloudwire.HeartbeatRequest{},
		cloudwire.CompleteRequest{},
		cloudwire.CacheDiskRequest{},
	} {
		wiretest.NoNull(t, v)
	}
}

// TestHandWrittenTypesFollowTheDocument compares the hand-written types with the schemas.
func TestHandWrittenTypesFollowTheDocument(t *testing.T) {
	for _, r := range []struct {
		typ    reflect.Type
		always []string // nil: what the document requires
	}{
		{reflect.TypeFor[cloudwire.MachineInfo](), nil},
		// network is sent although the document does not ask for it.
		{reflect.TypeFor[cloudwire.CreateMachineRequest](), []string{"source", "network"}},
		{reflect.TypeFor[cloudwire.BranchRequest](), nil},
		{reflect.TypeFor[cloudwire.BranchBatchRequest](), nil},
		{reflect.TypeFor[cloudwire.PortsRequest](), nil},
		// A reply without exitCode is to be told from one with 0.
		{reflect.TypeFor[cloudwire.ExecResult](), []string{"stdout", "stderr", "durationMs", "machineId"}},
		{reflect.TypeFor[cloudwire.ExitEvent](), []string{}},
	} {
		wiretest.FollowsDocument(t, api.CloudJSON, r.typ, r.always)
	}
}
