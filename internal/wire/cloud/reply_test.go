package cloudwire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
)

// A server newer than this project sends what this project does not know; an older one leaves out what it does not.
func TestRepliesDecodeTolerantly(t *testing.T) {
	at := cloudwire.Time{Time: time.Date(2026, 10, 4, 9, 12, 20, 0, time.UTC)}
	for _, r := range []struct {
		name, reply string
		want        cloudwire.MachineInfo
	}{
		{"only a state", `{"state":"started"}`, cloudwire.MachineInfo{State: cloudwire.StateStarted}},
		{"every nullable field null", `{"id":"m","name":null,"source":null,"ready":null,"readyAt":null,"error":null,"url":null,"ports":null,
"resources":null,"network":null,"env":null,"workdir":null,"labels":null,"autoStopSeconds":null,"ttlSeconds":null,"arch":null,
"lastActivityAt":null,"createdBy":null,"branchable":null,"branchState":null,"branchGeneration":null,"parentMachineId":null,
"rootBranchId":null,"capabilities":null}`, cloudwire.MachineInfo{ID: "m"}},
		{"values and fields that are not known", `{"id":"m","state":"hibernated","region":"eu","resources":{"cpus":2,"memoryMb":1024,"diskGb":null,
"gpu":{}},"network":{"mode":"open","since":1},"createdAt":"2026-10-04T09:12:20Z","capabilities":{"exec":true,"teleport":true}}`, cloudwire.MachineInfo{
			ID: "m", State: "hibernated", Resources: cloudwire.MachineResources{CPUs: 2, MemoryMb: 1024}, CreatedAt: at,
			Network: cloudwire.Network{Open: &cloudwire.OpenNetwork{}}, Capabilities: &cloudwire.MachineCapabilities{Exec: true},
		}},
		{"an old server", `{"id":"m","name":"web","source":{"type":"image","reference":"nginx"},"state":"running","resources":{},"network":
{"mode":"allowCidrs","cidrs":["10.0.0.0/8"]},"env":{"A":"b"},"ephemeral":true,"createdAt":"2026-10-04T11:12:20.000+02:00","forkable":true,
"checkpointState":"frozen"}`, cloudwire.MachineInfo{
			ID: "m", Name: "web", Source: cloudwire.MachineSource{Image: &cloudwire.ImageSource{Reference: "nginx"}}, State: cloudwire.StateRunning,
			Network: cloudwire.Network{Allow: &cloudwire.AllowNetwork{CIDRs: []string{"10.0.0.0/8"}}}, Env: map[string]string{"A": "b"},
			Ephemeral: true, CreatedAt: at, Forkable: new(true), CheckpointState: "frozen",
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			var got cloudwire.MachineInfo
			if err := json.Unmarshal([]byte(r.reply), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMachineListTakesBothForms(t *testing.T) {
	two := cloudwire.MachineList{{ID: "a"}, {ID: "b"}}
	for _, r := range []struct {
		reply string
		want  cloudwire.MachineList
	}{
		{`[{"id":"a"},{"id":"b"}]`, two},
		{` {"machines":[{"id":"a"},{"id":"b"}],"next":null}`, two},
		{`[]`, cloudwire.MachineList{}},
		{`{"machines":[]}`, cloudwire.MachineList{}},
		{`null`, nil},
	} {
		var got cloudwire.MachineList
		if err := json.Unmarshal([]byte(r.reply), &got); err != nil {
			t.Errorf("%s: %v", r.reply, err)
		}
		if diff := cmp.Diff(r.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.reply, diff)
		}
	}
	// Another answer is not an empty list: who cleans up would believe that nothing is left.
	for _, bad := range []string{`{}`, `{"error":"no"}`, `{"machines":null}`, `{"machines":{}}`, `"none"`, `[7]`} {
		var got cloudwire.MachineList
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is decoded as %v", bad, got)
		}
	}
}

func TestTimeNeverFails(t *testing.T) {
	want := time.Date(2026, 10, 4, 9, 12, 31, 412_000_000, time.UTC)
	for in, exact := range map[string]bool{
		`"2026-10-04T09:12:31.412Z"`:          true,
		`"2026-10-04T11:12:31.412000+02:00"`:  true,
		`"2026-10-04T09:12:31.412000000000Z"`: true,
		`""`:                                  false,
		`null`:                                false,
		`1759569151`:                          false,
		`"yesterday"`:                         false,
	} {
		got := cloudwire.Time{Time: want.Add(time.Hour)}
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if exact && !got.Equal(want) || !exact && !got.IsZero() {
			t.Errorf("%s is %v", in, got)
		}
	}
}

func TestNamesForTheSame(t *testing.T) {
	for _, r := range []struct {
		reply             string
		canBranch, frozen bool
	}{
		{`{}`, false, false},
		{`{"branchable":true}`, true, false},
		{`{"forkable":true}`, true, false},
		{`{"branchable":false,"forkable":false}`, false, false},
		{`{"branchable":true,"branchState":"frozen"}`, true, true},
		{`{"forkable":true,"checkpointState":"frozen"}`, true, true},
		{`{"state":"frozen"}`, false, true},
		{`{"branchState":"mutable","checkpointState":"mutable"}`, false, false},
	} {
		var m cloudwire.MachineInfo
		if err := json.Unmarshal([]byte(r.reply), &m); err != nil {
			t.Fatal(err)
		}
		if m.CanBranch() != r.canBranch || m.Frozen() != r.frozen {
			t.Errorf("%s: CanBranch() = %t, Frozen() = %t", r.reply, m.CanBranch(), m.Frozen())
		}
	}
	for state, want := range map[cloudwire.State][2]bool{
		cloudwire.StateStarted: {true, false}, cloudwire.StateRunning: {true, false}, cloudwire.StateStarting: {},
		cloudwire.StateError: {false, true}, cloudwire.StateFailed: {false, true}, "": {},
	} {
		if got := [2]bool{state.IsStarted(), state.IsFailed()}; got != want {
			t.Errorf("%q: started, failed = %v, want %v", state, got, want)
		}
	}
	for status, want := range map[cloudwire.CheckpointStatus]bool{
		cloudwire.CheckpointAvailable: true, cloudwire.CheckpointReady: true, cloudwire.CheckpointCreating: false, "": false,
	} {
		if status.IsAvailable() != want {
			t.Errorf("%q: IsAvailable() = %t", status, !want)
		}
	}
}

func TestOutputOfACommand(t *testing.T) {
	for _, r := range []struct {
		name, reply, out string
		exact            bool
	}{
		{"both", `{"stdout":"\ufffd","stdoutB64":"/wA=","stdoutTruncated":true}`, "\xff\x00", true},
		{"only base64 was asked for", `{"stdout":"","stdoutB64":"aGk="}`, "hi", true},
		{"only text was asked for", `{"stdout":"hi","stdoutB64":""}`, "hi", true},
		{"no output", `{"stdout":"","stdoutB64":""}`, "", true},
		{"an old server", `{"stdout":"hi"}`, "hi", true},
		{"an old server, cut", `{"stdout":"hi","stdoutTruncated":true}`, "hi", false},
		{"an old server, not UTF-8", `{"stdout":"a\ufffdb"}`, "a\ufffdb", false},
		{"null is absent", `{"stdout":"hi","stdoutB64":null,"stdoutTruncated":null}`, "hi", true},
	} {
		t.Run(r.name, func(t *testing.T) {
			// The same must hold for the error output.
			for _, reply := range []string{r.reply, strings.ReplaceAll(r.reply, "stdout", "stderr")} {
				var result cloudwire.ExecResult
				if err := json.Unmarshal([]byte(reply), &result); err != nil {
					t.Fatal(err)
				}
				of := result.Output
				if reply != r.reply {
					of = result.ErrorOutput
				}
				if out, exact, err := of(); string(out) != r.out || exact != r.exact || err != nil {
					t.Errorf("%s: %q, %t, %v", reply, out, exact, err)
				}
			}
		})
	}
	result := cloudwire.ExecResult{StdoutB64: new("a"), StderrB64: new("%%%%")}
	if _, _, err := result.Output(); err == nil || !strings.Contains(err.Error(), "stdoutB64") {
		t.Errorf("error %v", err)
	}
	if _, _, err := result.ErrorOutput(); err == nil || !strings.Contains(err.Error(), "stderrB64") {
		t.Errorf("error %v", err)
	}
}

// FuzzMachineList holds that what decodes encodes, and decodes again as the same.
func FuzzMachineList(f *testing.F) {
	for _, seed := range []string{
		`[]`, `null`, `{"machines":[{"id":"a"}]}`, `[{"id":"a","source":{"type":"image","reference":"r"},"network":{"mode":"open"}}]`,
		`[{"source":{"type":"git"},"network":7,"createdAt":"x"}]`, `[{"network":{"mode":"allowCidrs"}}]`, `[{"source":"\ud800","labels":{}}]`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var l, again cloudwire.MachineList
		if json.Unmarshal(b, &l) != nil {
			return
		}
		first, err := json.Marshal(l)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s, then %s, %v", first, second, err)
		}
	})
}
