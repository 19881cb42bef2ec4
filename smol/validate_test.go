package smol_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// host is an absolute directory of the system that the test runs on.
var host, _ = filepath.Abs("dir")

func TestSpecValid(t *testing.T) {
	specs := []smol.Spec{
		{},
		{Name: "a"},
		{Name: strings.Repeat("a", 128)},
		{Name: "A-b_c-9_"},
		{Image: "alpine"},
		{Image: "ghcr.io:443/owner/app:v1.2-rc_1@sha256:0123456789abcdef"},
		{Command: []string{"sh", "-c", "sleep 1\n", ""}},
		{Env: map[string]string{"A": "", "_b9": "x=y\nz", strings.Repeat("A", 256): "ü"}},
		{Dir: "/"},
		{Dir: "/a b/ü"},
		{Resources: smol.Resources{CPUs: 255, MemoryMiB: 64, DiskGiB: 1, OverlayGiB: 1 << 20}},
		{Network: smol.Network{Open: true, AllowHosts: []string{"example.com", "a.b-c.example.", "localhost", "_x.y"}}},
		{Network: smol.Network{AllowCIDRs: []string{"10.0.0.0/8", "1.1.1.1", "2001:db8::/32", "::1", "10.1.2.3/8"}}},
		{Ports: []smol.Port{{Guest: 1}, {Guest: 65535, Host: 8080}, {Guest: 80}, {Guest: 80}}},
		{Mounts: []smol.Mount{{Source: host, Target: "/src"}, {Source: host, Target: "/src/sub", ReadOnly: true}}},
		{Labels: map[string]string{"a.b/c": "", "d": "x=y"}},
		{AutoStop: time.Minute, TTL: time.Hour},
	}
	for i, s := range specs {
		if err := s.Validate(); err != nil {
			t.Errorf("row %d: %v", i, err)
		}
	}
}

func TestSpecHostile(t *testing.T) {
	network := func(n smol.Network) smol.Spec { return smol.Spec{Network: n} }
	mount := func(source, target string) smol.Spec {
		return smol.Spec{Mounts: []smol.Mount{{Source: host, Target: "/ok"}, {Source: source, Target: target}}}
	}
	port := func(p smol.Port) smol.Spec { return smol.Spec{Ports: []smol.Port{{Guest: 80, Host: 8080}, p}} }
	env := func(name, value string) smol.Spec { return smol.Spec{Env: map[string]string{"OK": "1", name: value}} }
	tests := []struct {
		field string
		spec  smol.Spec
	}{
		{"Spec.Name", smol.Spec{Name: "."}},
		{"Spec.Name", smol.Spec{Name: ".."}},
		{"Spec.Name", smol.Spec{Name: "a/b"}},
		{"Spec.Name", smol.Spec{Name: `a\b`}},
		{"Spec.Name", smol.Spec{Name: "../images/x"}},
		{"Spec.Name", smol.Spec{Name: strings.Repeat("a", 129)}},
		{"Spec.Name", smol.Spec{Name: "a\x00b"}},
		{"Spec.Name", smol.Spec{Name: "a=b"}},
		{"Spec.Name", smol.Spec{Name: "-a"}},
		{"Spec.Name", smol.Spec{Name: "_a"}},
		{"Spec.Name", smol.Spec{Name: "a-"}},
		{"Spec.Name", smol.Spec{Name: "a--b"}},
		{"Spec.Name", smol.Spec{Name: "ä"}},
		{"Spec.Name", smol.Spec{Name: "a b"}},
		{"Spec.Name", smol.Spec{Name: "a\n"}},
		{"Spec.Image", smol.Spec{Image: "-"}},
		{"Spec.Image", smol.Spec{Image: "/etc/passwd"}},
		{"Spec.Image", smol.Spec{Image: "../images/x"}},
		{"Spec.Image", smol.Spec{Image: "a/../b"}},
		{"Spec.Image", smol.Spec{Image: "a b"}},
		{"Spec.Image", smol.Spec{Image: "a\x00"}},
		{"Spec.Image", smol.Spec{Image: "a?b"}},
		{"Spec.Image", smol.Spec{Image: strings.Repeat("a", 1025)}},
		{"Spec.Command[1]", smol.Spec{Command: []string{"sh", "\x00"}}},
		{"Spec.Command[0]", smol.Spec{Command: []string{"\xff"}}},
		{`Spec.Env[""]`, env("", "x")},
		{`Spec.Env["A=B"]`, env("A=B", "x")},
		{`Spec.Env["A\x00"]`, env("A\x00", "x")},
		{`Spec.Env["a/b"]`, env("a/b", "x")},
		{`Spec.Env[".."]`, env("..", "x")},
		{`Spec.Env["1A"]`, env("1A", "x")},
		{`Spec.Env["\xff"]`, env("\xff", "x")},
		{`Spec.Env["AAAA`, env(strings.Repeat("A", 257), "x")},
		{`Spec.Env["SMOL_JOB"]`, env("SMOL_JOB", "x")},
		{`Spec.Env["A"]`, env("A", "\x00")},
		{`Spec.Env["A"]`, env("A", "\xff")},
		{"Spec.Dir", smol.Spec{Dir: "a/b"}},
		{"Spec.Dir", smol.Spec{Dir: ".."}},
		{"Spec.Dir", smol.Spec{Dir: "../images/x"}},
		{"Spec.Dir", smol.Spec{Dir: "/a\x00"}},
		{"Spec.Dir", smol.Spec{Dir: "/\xff"}},
		{"Spec.Dir", smol.Spec{Dir: "/" + strings.Repeat("a", 4096)}},
		{"Spec.Resources.CPUs", smol.Spec{Resources: smol.Resources{CPUs: -1}}},
		{"Spec.Resources.CPUs", smol.Spec{Resources: smol.Resources{CPUs: 256}}},
		{"Spec.Resources.MemoryMiB", smol.Spec{Resources: smol.Resources{MemoryMiB: 63}}},
		{"Spec.Resources.MemoryMiB", smol.Spec{Resources: smol.Resources{MemoryMiB: 1 << 40}}},
		{"Spec.Resources.DiskGiB", smol.Spec{Resources: smol.Resources{DiskGiB: -5}}},
		{"Spec.Resources.OverlayGiB", smol.Spec{Resources: smol.Resources{OverlayGiB: 1 << 30}}},
		{"Spec.Network.AllowHosts[1]", network(smol.Network{AllowHosts: []string{"a", ""}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"https://a"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"a:443"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"*.a"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"a..b"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"10.0.0.1"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"a\x00"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{strings.Repeat("a.", 127) + "a"}})},
		{"Spec.Network.AllowHosts[0]", network(smol.Network{AllowHosts: []string{"-a"}})},
		{"Spec.Network.AllowCIDRs[1]", network(smol.Network{AllowCIDRs: []string{"::/0", "10.0.0.0/33"}})},
		{"Spec.Network.AllowCIDRs[0]", network(smol.Network{AllowCIDRs: []string{""}})},
		{"Spec.Network.AllowCIDRs[0]", network(smol.Network{AllowCIDRs: []string{"10.0.0"}})},
		{"Spec.Network.AllowCIDRs[0]", network(smol.Network{AllowCIDRs: []string{"fe80::1%eth0"}})},
		{"Spec.Network.AllowCIDRs[0]", network(smol.Network{AllowCIDRs: []string{"example.com"}})},
		{"Spec.Network.AllowCIDRs[0]", network(smol.Network{AllowCIDRs: []string{"10.0.0.0/8\x00"}})},
		{"Spec.Ports[1].Guest", port(smol.Port{})},
		{"Spec.Ports[1].Guest", port(smol.Port{Guest: -1})},
		{"Spec.Ports[1].Guest", port(smol.Port{Guest: 65536})},
		{"Spec.Ports[1].Host", port(smol.Port{Guest: 1, Host: -1})},
		{"Spec.Ports[1].Host", port(smol.Port{Guest: 1, Host: 65536})},
		{"Spec.Ports[1].Host", port(smol.Port{Guest: 1, Host: 8080})},
		{"Spec.Mounts[1].Source", mount("", "/x")},
		{"Spec.Mounts[1].Source", mount("a/b", "/x")},
		{"Spec.Mounts[1].Source", mount("../images/x", "/x")},
		{"Spec.Mounts[1].Source", mount(host+"\x00", "/x")},
		{"Spec.Mounts[1].Source", mount(host+"\xff", "/x")},
		{"Spec.Mounts[1].Target", mount(host, "")},
		{"Spec.Mounts[1].Target", mount(host, "x")},
		{"Spec.Mounts[1].Target", mount(host, "/")},
		{"Spec.Mounts[1].Target", mount(host, "/a/../b")},
		{"Spec.Mounts[1].Target", mount(host, "/ok/")},
		{`Spec.Labels[""]`, smol.Spec{Labels: map[string]string{"": "x"}}},
		{`Spec.Labels["a=b"]`, smol.Spec{Labels: map[string]string{"a=b": "x"}}},
		{`Spec.Labels["\x00"]`, smol.Spec{Labels: map[string]string{"\x00": "x"}}},
		{`Spec.Labels["a"]`, smol.Spec{Labels: map[string]string{"a": "\xff"}}},
		{"Spec.AutoStop", smol.Spec{AutoStop: -1}},
		{"Spec.TTL", smol.Spec{TTL: -time.Hour}},
	}
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(nil)})
	fleet := l.Service(t).Fleet
	for i, tt := range tests {
		_, err := fleet.Create(t.Context(), tt.spec, nil)
		var e *smol.Error
		if !errors.As(err, &e) || e.Code != smol.CodeInvalid || !strings.HasPrefix(e.Message, tt.field) {
			t.Errorf("row %d: got %v, want an invalid error that names %s", i, err, tt.field)
		}
	}
	wantNoRequests(t, l)
}

// wantNoRequests fails if the stand-in was asked anything.
func wantNoRequests(t *testing.T, l *smoltest.Local) {
	t.Helper()
	if requests := l.Requests(); len(requests) != 0 {
		t.Errorf("%d requests were sent: %v", len(requests), requests)
	}
}
