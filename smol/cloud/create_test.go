package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

// created is the body of the create of spec, without the label of the client, which it checks.
func created(t *testing.T, spec *smol.Spec, reply string) map[string]any {
	t.Helper()
	s := serve(t, answers{"POST /machines": saysStatus(http.StatusCreated, reply)})
	if _, err := s.backend().Create(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	body := s.bodyOf("POST /machines")
	labels, _ := body["labels"].(map[string]any)
	if mark, _ := labels[cloud.OriginLabel].(string); mark == "" {
		t.Errorf("labels are %v, without a mark", labels)
	}
	if delete(labels, cloud.OriginLabel); len(labels) == 0 {
		delete(body, "labels")
	}
	return body
}

func TestCreateBody(t *testing.T) {
	sleeper := []any{"sh", "-c", "while true; do sleep 3600; done"}
	size := map[string]any{"cpus": 4.0, "memoryMb": 8192.0}
	image := func(ref string) map[string]any { return map[string]any{"type": "image", "reference": ref} }
	blocked := map[string]any{"mode": "blocked"}
	for _, tt := range []struct {
		name string
		spec smol.Spec
		want map[string]any
	}{
		{"the least", smol.Spec{Name: "web", Image: "alpine"}, map[string]any{
			"name": "web", "source": image("alpine"), "network": blocked, "resources": size, "command": sleeper,
		}},
		{
			"the most",
			smol.Spec{
				Name: "web", Image: "alpine", Command: []string{"serve", "<&>"}, Env: map[string]string{"A": "b"}, Dir: "/srv",
				Resources: smol.Resources{CPUs: 2, MemoryMiB: 512, DiskGiB: 10}, Network: smol.Network{Open: true},
				Ports: []smol.Port{{Guest: 80}}, Labels: map[string]string{"team": "x"}, Branchable: true, Ephemeral: false,
				AutoStop: 1500 * time.Millisecond, TTL: time.Hour,
			},
			map[string]any{
				"name": "web", "source": image("alpine"), "network": map[string]any{"mode": "open"},
				"resources": map[string]any{"cpus": 2.0, "memoryMb": 512.0, "diskGb": 10.0}, "command": []any{"serve", "<&>"},
				"env": map[string]any{"A": "b"}, "workdir": "/srv", "ports": []any{map[string]any{"port": 80.0}},
				"labels": map[string]any{"team": "x"}, "branchable": true, "autoStopSeconds": 2.0, "ttlSeconds": 3600.0,
			},
		},
		{"a packed machine", smol.Spec{Name: "web", Image: "registry.smolmachines.com/library/alpine:3.20"}, map[string]any{
			"name": "web", "source": map[string]any{"type": "smolmachine", "reference": "registry.smolmachines.com/library/alpine:3.20"},
			"network": blocked, "resources": size, "command": sleeper,
		}},
		{"an exported machine", smol.Spec{Name: "web", Image: "tenants/me/web:v1"}, map[string]any{
			"name": "web", "source": map[string]any{"type": "smolmachine", "reference": "tenants/me/web:v1"},
			"network": blocked, "resources": size, "command": sleeper,
		}},
		{"not an exported machine", smol.Spec{Name: "web", Image: "tenants/web"}, map[string]any{
			"name": "web", "source": image("tenants/web"), "network": blocked, "resources": size, "command": sleeper,
		}},
		// The docs call them separate choices, so it is the service's to refuse.
		{"blocked, with a port", smol.Spec{Name: "web", Image: "alpine", Ports: []smol.Port{{Guest: 80}}}, map[string]any{
			"name": "web", "source": image("alpine"), "network": blocked, "resources": size, "command": sleeper,
			"ports": []any{map[string]any{"port": 80.0}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, created(t, &tt.spec, `{"id":"`+id+`","state":"stopped"}`)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCreateNetwork: the policy is always stated in full, in words that services of any age take.
func TestCreateNetwork(t *testing.T) {
	list := func(items ...string) []any {
		out := []any{}
		for _, i := range items {
			out = append(out, i)
		}
		return out
	}
	for _, tt := range []struct {
		network smol.Network
		want    map[string]any
	}{
		{smol.Network{}, map[string]any{"mode": "blocked"}},
		{smol.Network{AllowHosts: []string{}, AllowCIDRs: []string{}}, map[string]any{"mode": "blocked"}},
		{smol.Network{Open: true}, map[string]any{"mode": "open"}},
		{smol.Network{AllowHosts: []string{"Api.Example.com."}}, map[string]any{"mode": "allowCidrs", "cidrs": list(), "hosts": list("api.example.com")}},
		{
			smol.Network{AllowCIDRs: []string{"10.1.2.3/8", "1.1.1.1", "2001:db8::1"}},
			map[string]any{"mode": "allowCidrs", "cidrs": list("10.0.0.0/8", "1.1.1.1/32", "2001:db8::1/128"), "hosts": list()},
		},
		{
			smol.Network{Open: true, AllowHosts: []string{"a.example"}, AllowCIDRs: []string{"10.0.0.0/8"}},
			map[string]any{"mode": "allowCidrs", "cidrs": list("10.0.0.0/8"), "hosts": list("a.example")},
		},
	} {
		spec := &smol.Spec{Name: "web", Image: "alpine", Network: tt.network}
		got := created(t, spec, `{"id":"`+id+`","state":"stopped"}`)["network"]
		if diff := cmp.Diff(any(tt.want), got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.network, diff)
		}
	}
}

// TestCreateThatIsNotBlocked: a machine that may reach more than was asked for is not handed out, and not left behind.
func TestCreateThatIsNotBlocked(t *testing.T) {
	open := `{"id":"` + id + `","state":"stopped","network":{"mode":"open"}}`
	for _, network := range []smol.Network{{}, {AllowHosts: []string{"a.example"}}} {
		s := serve(t, answers{
			"POST /machines": saysStatus(http.StatusCreated, open), "DELETE /machines/" + id: empty(http.StatusNoContent),
		})
		_, err := s.backend().Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine", Network: network})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "does not restrict") || s.count("DELETE /machines/"+id) != 1 {
			t.Errorf("%v after %q", err, s.requests())
		}
	}
	s := serve(t, answers{
		"POST /machines": saysStatus(http.StatusCreated, open), "DELETE /machines/" + id: fails(http.StatusForbidden, "", "missing scope: machine:delete"),
	})
	_, err := s.backend().Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine"})
	if e := asError(t, err); !strings.Contains(e.Message, id+" could not be deleted") || !strings.Contains(e.Hint, "delete") || !errors.Is(err, smol.ErrPermission) {
		t.Errorf("%v, hint %q", err, e.Hint)
	}
}

func TestCreateRefusedHere(t *testing.T) {
	s := serve(t, answers{})
	many := map[string]string{}
	for i := range 33 {
		many[fmt.Sprint("l", i)] = ""
	}
	for name, tt := range map[string]struct {
		spec  smol.Spec
		want  error
		field string
	}{
		"no image":         {smol.Spec{Name: "web"}, smol.ErrInvalid, "Spec.Image"},
		"no name":          {smol.Spec{Image: "alpine"}, smol.ErrInvalid, "Spec.Name"},
		"a long name":      {smol.Spec{Name: strings.Repeat("x", 64), Image: "alpine"}, smol.ErrInvalid, "Spec.Name"},
		"a bad name":       {smol.Spec{Name: "a.b", Image: "alpine"}, smol.ErrInvalid, "Spec.Name"},
		"a mount":          {smol.Spec{Name: "web", Image: "alpine", Mounts: []smol.Mount{{Source: t.TempDir(), Target: "/mnt"}}}, errors.ErrUnsupported, "Spec.Mounts"},
		"a second disk":    {smol.Spec{Name: "web", Image: "alpine", Resources: smol.Resources{OverlayGiB: 1}}, errors.ErrUnsupported, "OverlayGiB"},
		"a port here":      {smol.Spec{Name: "web", Image: "alpine", Ports: []smol.Port{{Guest: 80}, {Guest: 81, Host: 81}}}, errors.ErrUnsupported, "Spec.Ports[1].Host"},
		"many labels":      {smol.Spec{Name: "web", Image: "alpine", Labels: many}, smol.ErrInvalid, "33 labels"},
		"a bad label":      {smol.Spec{Name: "web", Image: "alpine", Labels: map[string]string{"Team": "x"}}, smol.ErrInvalid, `Spec.Labels["Team"]`},
		"a long label":     {smol.Spec{Name: "web", Image: "alpine", Labels: map[string]string{strings.Repeat("x", 64): "x"}}, smol.ErrInvalid, "Spec.Labels"},
		"much in a label":  {smol.Spec{Name: "web", Image: "alpine", Labels: map[string]string{"a": strings.Repeat("x", 256)}}, smol.ErrInvalid, "256 bytes"},
		"our own label":    {smol.Spec{Name: "web", Image: "alpine", Labels: map[string]string{cloud.OriginLabel: "x"}}, smol.ErrInvalid, "keeps for itself"},
		"bad environment":  {smol.Spec{Name: "web", Image: "alpine", Env: map[string]string{"a=b": "x"}}, smol.ErrInvalid, "Spec.Env"},
		"a negative pause": {smol.Spec{Name: "web", Image: "alpine", AutoStop: -1}, smol.ErrInvalid, "Spec.AutoStop"},
	} {
		_, err := s.backend().Create(t.Context(), &tt.spec)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.field) {
			t.Errorf("%s: %v, want one about %s", name, err, tt.field)
		}
	}
	if got := s.requests(); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}

func TestCreateRefusedThere(t *testing.T) {
	for _, tt := range []struct {
		status int
		text   string
		spec   smol.Spec
		want   error
		hint   string
	}{
		{409, "name already in use", smol.Spec{}, smol.ErrExists, "another name"},
		{422, "machine count quota exceeded: plan Free allows 2", smol.Spec{}, smol.ErrConflict, "stopped ones too"},
		{422, "concurrency limit reached: plan Free allows 1", smol.Spec{}, smol.ErrConflict, "stop machines"},
		{422, "no capacity for 64 vCPU", smol.Spec{}, smol.ErrUnavailable, "try again later"},
		{402, "this organization has no credit yet", smol.Spec{}, smol.ErrPermission, "console"},
		{403, "missing scope: machine:create", smol.Spec{}, smol.ErrPermission, "lacks that scope"},
		{401, "API key has expired", smol.Spec{}, smol.ErrUnauthenticated, "make a key"},
		{400, "publish requires egress", smol.Spec{Ports: []smol.Port{{Guest: 80}}}, smol.ErrInvalid, "leave the port out"},
		{422, "publish requires egress", smol.Spec{Ports: []smol.Port{{Guest: 80}}}, smol.ErrInvalid, "leave the port out"},
		{422, "publish requires egress", smol.Spec{Ports: []smol.Port{{Guest: 80}}, Network: smol.Network{Open: true}}, smol.ErrInvalid, ""},
		{501, "not built", smol.Spec{}, errors.ErrUnsupported, ""},
	} {
		s := serve(t, answers{"POST /machines": fails(tt.status, "", tt.text)})
		tt.spec.Name, tt.spec.Image = "web", "alpine"
		_, err := s.backend().Create(t.Context(), &tt.spec)
		e := asError(t, err)
		if !errors.Is(err, tt.want) || e.Message != tt.text || e.Machine != "web" || !strings.Contains(e.Hint, tt.hint) || tt.hint == "" && e.Hint != "" {
			t.Errorf("%d %s: %v, hint %q", tt.status, tt.text, err, e.Hint)
		}
	}
}

// TestCreateAnswers: what the service may say to a create besides a whole record.
func TestCreateAnswers(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"id":"x"}`:                      true,
		`{"id":"x","name":null,"new":[]}`: true,
		`{}`:                              false,
		`{"state":"stopped"}`:             false,
		`null`:                            false,
		``:                                false,
		`[]`:                              false,
		`"x"`:                             false,
		`<html>`:                          false,
	} {
		s := serve(t, answers{"POST /machines": saysStatus(http.StatusCreated, body)})
		info, err := s.backend().Create(t.Context(), &smol.Spec{Name: "web", Image: "alpine"})
		if ok != (err == nil) || ok && info.ID != "x" {
			t.Errorf("%s: %v, %v", body, info, err)
		}
		if !ok && (asError(t, err).Code != smol.CodeUnknown || asError(t, err).Status != 0) {
			t.Errorf("%s: %#v, which says something certain", body, err)
		}
	}
}

// TestEphemeral: the service deletes an ephemeral machine that it finds stopped, which it is before it was ever started.
func TestEphemeral(t *testing.T) {
	spec := &smol.Spec{Name: "web", Image: "alpine", Ephemeral: true}
	start := "POST /machines/" + id + "/start"
	gone := fails(http.StatusNotFound, "not_found", "machine not found")
	t.Run("started at once", func(t *testing.T) {
		s := serve(t, answers{"POST /machines": says(machine("stopped")), start: says(machine("started"))})
		info, err := s.backend().Create(t.Context(), spec)
		if err != nil || info.State != smol.StateRunning || s.bodyOf("POST /machines")["ephemeral"] != true {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("gone before", func(t *testing.T) {
		s := serve(t, answers{"POST /machines": says(machine("stopped")), start: inTurn(gone, says(machine("started")))})
		info, err := s.backend().Create(t.Context(), spec)
		if err != nil || info.State != smol.StateRunning || s.count("POST /machines") != 2 {
			t.Errorf("%v, %v after %q", info, err, s.requests())
		}
	})
	t.Run("gone each time", func(t *testing.T) {
		s := serve(t, answers{"POST /machines": says(machine("stopped")), start: gone})
		_, err := s.backend().Create(t.Context(), spec)
		if !errors.Is(err, smol.ErrConflict) || !strings.Contains(asError(t, err).Hint, "TTL") || s.count("POST /machines") != 3 {
			t.Errorf("%v after %q", err, s.requests())
		}
	})
	t.Run("cannot start", func(t *testing.T) {
		// Who called deletes it: a Backend's error would leave it behind.
		s := serve(t, answers{
			"POST /machines": says(machine("stopped")), start: fails(http.StatusInternalServerError, "", "pull image: denied"),
			"GET /machines/" + id: says(machine("error", `"error":"start failed: denied"`)),
		})
		info, err := s.backend().Create(t.Context(), spec)
		if err != nil || info.ID != id || s.count("POST /machines") != 1 {
			t.Errorf("%v, %v after %q", info, err, s.requests())
		}
	})
	t.Run("has run and is gone", func(t *testing.T) {
		// It has done its work, which must not be done again.
		s := serve(t, answers{
			"POST /machines": says(machine("stopped")), start: empty(http.StatusAccepted), "GET /machines/" + id: gone,
		})
		if _, err := s.backend().Create(t.Context(), spec); err != nil || s.count("POST /machines") != 1 {
			t.Errorf("%v after %q", err, s.requests())
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, answers{"POST /machines": says(machine("stopped")), start: func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}})
		if info, err := s.backend().Create(ctx, spec); err != nil || info.ID != id {
			t.Errorf("%v, %v: whoever has to delete it does not know it", info, err)
		}
	})
}
