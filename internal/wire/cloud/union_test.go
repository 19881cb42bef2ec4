package cloudwire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

func TestSourceBothWays(t *testing.T) {
	for _, r := range []struct {
		name, json, tag, reference string
		source                     cloudwire.MachineSource
	}{
		{
			"image", `{"type":"image","reference":"alpine:3.20"}`, cloudwire.SourceImage, "alpine:3.20",
			cloudwire.MachineSource{Image: &cloudwire.ImageSource{Reference: "alpine:3.20"}},
		},
		{
			"image with arch", `{"type":"image","reference":"a","arch":"arm64"}`, cloudwire.SourceImage, "a",
			cloudwire.MachineSource{Image: &cloudwire.ImageSource{Reference: "a", Arch: "arm64"}},
		},
		{
			"smolmachine", `{"type":"smolmachine","reference":"tenants/t/app:v1"}`, cloudwire.SourceSmolmachine, "tenants/t/app:v1",
			cloudwire.MachineSource{Smolmachine: &cloudwire.SmolmachineSource{Reference: "tenants/t/app:v1"}},
		},
		{
			"smolmachine with arch", `{"type":"smolmachine","reference":"r","arch":"amd64"}`, cloudwire.SourceSmolmachine, "r",
			cloudwire.MachineSource{Smolmachine: &cloudwire.SmolmachineSource{Reference: "r", Arch: "amd64"}},
		},
		{
			"a kind that is not known", `{"type":"git","url":"https://git.example/x","depth":1}`, "git", "",
			cloudwire.MachineSource{Unknown: json.RawMessage(`{"type":"git","url":"https://git.example/x","depth":1}`)},
		},
		{"a form that is not known", `"alpine"`, "", "", cloudwire.MachineSource{Unknown: json.RawMessage(`"alpine"`)}},
		{
			"a known kind in another form", `{"type":"image","reference":["a","b"]}`, "image", "",
			cloudwire.MachineSource{Unknown: json.RawMessage(`{"type":"image","reference":["a","b"]}`)},
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			bothWays(t, r.json, r.source)
			if got := r.source.Type(); got != r.tag {
				t.Errorf("Type() = %q, want %q", got, r.tag)
			}
			if got := r.source.Reference(); got != r.reference {
				t.Errorf("Reference() = %q, want %q", got, r.reference)
			}
		})
	}
}

func TestNetworkBothWays(t *testing.T) {
	for _, r := range []struct {
		name, json, mode string
		network          cloudwire.Network
	}{
		{"blocked", `{"mode":"blocked"}`, cloudwire.NetworkBlocked, cloudwire.Network{Blocked: &cloudwire.BlockedNetwork{}}},
		{"open", `{"mode":"open"}`, cloudwire.NetworkOpen, cloudwire.Network{Open: &cloudwire.OpenNetwork{}}},
		{
			"allow, both lists", `{"mode":"allowCidrs","cidrs":["203.0.113.0/24"],"hosts":["api.example.com"]}`, cloudwire.NetworkAllow,
			cloudwire.Network{Allow: &cloudwire.AllowNetwork{CIDRs: []string{"203.0.113.0/24"}, Hosts: []string{"api.example.com"}}},
		},
		{
			"allow, hosts only", `{"mode":"allowCidrs","cidrs":[],"hosts":["a.example"]}`, cloudwire.NetworkAllow,
			cloudwire.Network{Allow: &cloudwire.AllowNetwork{CIDRs: []string{}, Hosts: []string{"a.example"}}},
		},
		{
			"allow, ranges only", `{"mode":"allowCidrs","cidrs":["127.0.0.0/8"],"hosts":[]}`, cloudwire.NetworkAllow,
			cloudwire.Network{Allow: &cloudwire.AllowNetwork{CIDRs: []string{"127.0.0.0/8"}, Hosts: []string{}}},
		},
		{
			"a kind that is not known", `{"mode":"vpc","subnet":"s-1"}`, "vpc",
			cloudwire.Network{Unknown: json.RawMessage(`{"mode":"vpc","subnet":"s-1"}`)},
		},
		{"a form that is not known", `true`, "", cloudwire.Network{Unknown: json.RawMessage(`true`)}},
	} {
		t.Run(r.name, func(t *testing.T) {
			bothWays(t, r.json, r.network)
			if got := r.network.Mode(); got != r.mode {
				t.Errorf("Mode() = %q, want %q", got, r.mode)
			}
		})
	}
}

// bothWays encodes v and decodes what it is on the wire.
func bothWays[T any](t *testing.T, onTheWire string, v T) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	wiretest.SameJSON(t, onTheWire, string(got))
	var back T
	if err := json.Unmarshal([]byte(onTheWire), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, back); diff != "" {
		t.Errorf("decoded (-sent +decoded):\n%s", diff)
	}
}

// Old servers require both lists or do not know one of them, so nil is sent as an empty list.
func TestAllowNetworkSendsBothLists(t *testing.T) {
	got, err := json.Marshal(cloudwire.Network{Allow: &cloudwire.AllowNetwork{}})
	if err != nil {
		t.Fatal(err)
	}
	wiretest.SameJSON(t, `{"mode":"allowCidrs","cidrs":[],"hosts":[]}`, string(got))
	// And one that comes without hosts, as old servers send it, is no other policy.
	var n cloudwire.Network
	if err := json.Unmarshal([]byte(`{"mode":"allowCidrs","cidrs":["10.0.0.0/8"]}`), &n); err != nil {
		t.Fatal(err)
	}
	if n.Allow == nil || len(n.Allow.CIDRs) != 1 || n.Allow.Hosts != nil {
		t.Errorf("decoded %+v", n)
	}
}

func TestUnionsRefuseNoneAndTwo(t *testing.T) {
	image, packed := &cloudwire.ImageSource{Reference: "a"}, &cloudwire.SmolmachineSource{Reference: "a"}
	for _, r := range []struct {
		name string
		v    any
		want string
	}{
		{"no source", cloudwire.MachineSource{}, "source has no member"},
		{"two sources", cloudwire.MachineSource{Image: image, Smolmachine: packed}, "image and smolmachine"},
		{"a source and an unknown one", cloudwire.MachineSource{Image: image, Unknown: json.RawMessage(`{}`)}, "image and an unknown"},
		{"no network", cloudwire.Network{}, "network has no member"},
		{"two networks", cloudwire.Network{Blocked: &cloudwire.BlockedNetwork{}, Open: &cloudwire.OpenNetwork{}}, "blocked and open"},
		{"a create that forgets the network", cloudwire.CreateMachineRequest{Source: cloudwire.MachineSource{Image: image}}, "network has no member"},
		{"a create that forgets the source", cloudwire.CreateMachineRequest{Network: cloudwire.Network{Open: &cloudwire.OpenNetwork{}}}, "source has no member"},
	} {
		t.Run(r.name, func(t *testing.T) {
			got, err := json.Marshal(r.v)
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("encoded %s, error %v, want one with %q", got, err, r.want)
			}
		})
	}
}

// A reply can say null for a union, or leave it out; both are the zero value, over whatever was there before.
func TestUnionsDecodeNullAsNothing(t *testing.T) {
	m := cloudwire.MachineInfo{
		Source:  cloudwire.MachineSource{Image: &cloudwire.ImageSource{Reference: "old"}},
		Network: cloudwire.Network{Open: &cloudwire.OpenNetwork{}},
	}
	if err := json.Unmarshal([]byte(`{"id":"m","source": null,"network":null}`), &m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cloudwire.MachineInfo{ID: "m"}, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCommandBothWays(t *testing.T) {
	bothWays(t, `["sh","-c","true"]`, cloudwire.Command{Argv: []string{"sh", "-c", "true"}})
	bothWays(t, `"echo hi | cat"`, cloudwire.Command{Shell: "echo hi | cat"})
	bothWays(t, `[]`, cloudwire.Command{Argv: []string{}})
	for _, c := range []cloudwire.Command{{}, {Argv: []string{"a"}, Shell: "a"}} {
		if b, err := json.Marshal(c); err == nil {
			t.Errorf("%+v is encoded as %s", c, b)
		}
	}
	for _, bad := range []string{`7`, `{"argv":[]}`, `["a",1]`} {
		var c cloudwire.Command
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s is decoded as %+v", bad, c)
		}
	}
}
