package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

// TestInfo decodes the example of the service's documentation, and older and odd forms.
func TestInfo(t *testing.T) {
	at := func(s string) time.Time {
		tm, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for _, tt := range []struct {
		name, body string
		want       smol.Info
	}{
		{
			"whole",
			`{"id":"` + id + `","name":"web","state":"started","ready":true,
			"readyAt":"2026-10-04T09:12:31.412Z","error":null,
			"source":{"type":"image","reference":"nginx:1.27"},"arch":"amd64",
			"resources":{"cpus":2,"memoryMb":1024,"diskGb":10},
			"network":{"mode":"open"},"ports":[{"port":80,"hostPort":31877}],
			"url":"https://web-1a2b3c.apps.smolmachines.com",
			"env":{},"workdir":null,"labels":{"team":"x","smol-go/made":"abc.def"},"ephemeral":false,
			"autoStopSeconds":900,"ttlSeconds":3600,
			"branchable":true,"forkable":true,"branchState":"mutable","checkpointState":"mutable",
			"capabilities":{"exec":true,"branch":false},
			"createdAt":"2026-10-04T09:12:20Z","updatedAt":"2026-10-04T09:12:31Z","lastActivityAt":"2026-10-04T09:13:31Z"}`,
			smol.Info{
				ID: id, Name: "web", State: smol.StateRunning, RawState: "started", Ready: true, Image: "nginx:1.27",
				Resources: smol.Resources{CPUs: 2, MemoryMiB: 1024, DiskGiB: 10}, Network: smol.Network{Open: true},
				Ports: []smol.Port{{Guest: 80}}, Labels: map[string]string{"team": "x"}, Branchable: true,
				URL: "https://web-1a2b3c.apps.smolmachines.com", CreatedAt: at("2026-10-04T09:12:20Z"),
				StopsAt: at("2026-10-04T09:28:31Z"), DeletesAt: at("2026-10-04T10:12:20Z"),
			},
		},
		{
			"the least",
			`{"id":"m1"}`,
			smol.Info{ID: "m1"},
		},
		{
			"nulls",
			`{"id":"m1","name":null,"state":null,"ready":null,"source":null,"network":null,"ports":null,"labels":null,"resources":null,
			"createdAt":null,"ttlSeconds":null,"autoStopSeconds":null,"branchable":null}`,
			smol.Info{ID: "m1"},
		},
		{
			"an old server's",
			`{"id":"m1","state":"running","network":{"mode":"allowCidrs","cidrs":["10.0.0.0/8"]},"forkable":true}`,
			smol.Info{ID: "m1", State: smol.StateRunning, RawState: "running", Network: smol.Network{AllowCIDRs: []string{"10.0.0.0/8"}}, Branchable: true},
		},
		{
			"failed",
			`{"id":"m1","state":"error","error":"start failed: no image","ready":true}`,
			smol.Info{ID: "m1", State: smol.StateFailed, RawState: "error", Reason: "start failed: no image"},
		},
		{
			"another's spelling of blocked",
			`{"id":"m1","state":"created","network":{"mode":"allowCidrs","cidrs":["192.0.2.0/24"]}}`,
			smol.Info{ID: "m1", State: smol.StateCreating, RawState: "created"},
		},
		{
			"a restored machine's spelling of blocked",
			`{"id":"m1","state":"paused","network":{"mode":"allowCidrs","cidrs":["127.0.0.0/8","::1/128"],"hosts":[]}}`,
			smol.Info{ID: "m1", State: smol.StatePaused, RawState: "paused"},
		},
		{
			"words of tomorrow",
			`{"id":"m1","state":"hibernating","network":{"mode":"quantum"},"source":{"type":"tape"},"createdAt":"tomorrow"}`,
			smol.Info{ID: "m1", State: "hibernating", RawState: "hibernating", Network: smol.Network{Open: true}},
		},
		{
			"frozen, beside its state",
			`{"id":"m1","state":"started","branchState":"frozen"}`,
			smol.Info{ID: "m1", State: smol.StateFrozen, RawState: "started"},
		},
		{
			"frozen once",
			`{"id":"m1","state":"stopped","checkpointState":"frozen"}`,
			smol.Info{ID: "m1", State: smol.StateStopped, RawState: "stopped"},
		},
		{
			"ephemeral, idle before its end",
			`{"id":"m1","state":"started","ephemeral":true,"autoStopSeconds":60,"ttlSeconds":3600,"createdAt":"2026-10-04T09:00:00Z","readyAt":"2026-10-04T09:01:00Z"}`,
			smol.Info{
				ID: "m1", State: smol.StateRunning, RawState: "started", CreatedAt: at("2026-10-04T09:00:00Z"),
				StopsAt: at("2026-10-04T09:02:00Z"), DeletesAt: at("2026-10-04T09:02:00Z"),
			},
		},
		{
			"ephemeral, at its end before it is idle",
			`{"id":"m1","state":"started","ephemeral":true,"autoStopSeconds":6000,"ttlSeconds":60,"createdAt":"2026-10-04T09:00:00Z","lastActivityAt":"2026-10-04T09:00:00Z"}`,
			smol.Info{
				ID: "m1", State: smol.StateRunning, RawState: "started", CreatedAt: at("2026-10-04T09:00:00Z"),
				StopsAt: at("2026-10-04T10:40:00Z"), DeletesAt: at("2026-10-04T09:01:00Z"),
			},
		},
		{
			"stopped: nothing to stop",
			`{"id":"m1","state":"stopped","autoStopSeconds":60,"createdAt":"2026-10-04T09:00:00Z","lastActivityAt":"2026-10-04T09:01:00Z"}`,
			smol.Info{ID: "m1", State: smol.StateStopped, RawState: "stopped", CreatedAt: at("2026-10-04T09:00:00Z")},
		},
		{
			"when it is idle is not told",
			`{"id":"m1","state":"started","autoStopSeconds":60,"createdAt":"2026-10-04T09:00:00Z"}`,
			smol.Info{ID: "m1", State: smol.StateRunning, RawState: "started", CreatedAt: at("2026-10-04T09:00:00Z")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{"GET /machines/m1": says(tt.body)})
			got, err := s.backend().Inspect(t.Context(), "m1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInspectByName(t *testing.T) {
	missing := fails(http.StatusNotFound, "not_found", "machine not found")
	web := `{"id":"m1","name":"web","state":"started"}`
	for _, tt := range []struct {
		name, list string
		want       string // the id
		err        error
		text       string
	}{
		{"one of several", `[{"id":"m0","name":null},{"id":"m2","name":"webber"},` + web + `]`, "m1", nil, ""},
		{"wrapped", `{"total":1,"machines":[` + web + `],"next":null}`, "m1", nil, ""},
		{"none", `[{"id":"m0","name":"Web"}]`, "", smol.ErrNotFound, "machine not found"},
		{"an empty list", `[]`, "", smol.ErrNotFound, "machine not found"},
		{"only a dead one", `[{"id":"m0","name":"web","state":"deleted"}]`, "", smol.ErrNotFound, "machine not found"},
		{"a dead one and a living", `[{"id":"m0","name":"web","state":"deleted"},` + web + `]`, "m1", nil, ""},
		{"one without an id", `[{"name":"web"}]`, "", smol.ErrNotFound, "machine not found"},
		{"two", `[` + web + `,{"id":"m7","name":"web"}]`, "", smol.ErrConflict, "2 machines: m1, m7"},
		{"no list", `{"machines":{}}`, "", nil, "not understood"},
		{"no machines", `{"total":0}`, "", nil, "not understood"},
		{"a page", `<html>`, "", nil, "not understood"},
		{"nothing", ``, "", nil, "not understood"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{"GET /machines/web": missing, "GET /machines": says(tt.list)})
			info, err := s.backend().Inspect(t.Context(), "web")
			if tt.text == "" && (err != nil || info.ID != tt.want) {
				t.Errorf("%v, %v", info, err)
			}
			if tt.text != "" && (err == nil || tt.err != nil && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("%v, want one that says %q", err, tt.text)
			}
			if err != nil && asError(t, err).Op != "inspect" {
				t.Errorf("the error is about %q", asError(t, err).Op)
			}
		})
	}
}

// An id that is certain to be one is not looked for among the names.
func TestInspectByIDOnly(t *testing.T) {
	s := serve(t, answers{"GET /machines/" + id: fails(http.StatusNotFound, "not_found", "machine not found")})
	if _, err := s.backend().Inspect(t.Context(), id); !errors.Is(err, smol.ErrNotFound) {
		t.Error(err)
	}
}

// A handle made from a name asks for it once; all later calls go by the id.
func TestHandleByName(t *testing.T) {
	s := serve(t, answers{
		"GET /machines/web": fails(http.StatusNotFound, "", "machine not found"), "GET /machines": says("[" + machine("started") + "]"),
		"GET /machines/" + id: says(machine("started")), "POST /machines/" + id + "/stop": says(machine("stopped")),
	})
	m := s.service().Machine("web")
	for range 2 {
		if _, err := m.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Stop(t.Context(), nil); err != nil || m.ID() != id || m.Name() != "web" {
		t.Errorf("%v: %s %s", err, m.ID(), m.Name())
	}
	if s.count("GET /machines") != 1 || s.count("GET /machines/"+id) != 1 {
		t.Errorf("asked %q", s.requests())
	}
}

func TestList(t *testing.T) {
	ids := func(seq func(func(*smol.Info, error) bool)) (out []string, err error) {
		for info, e := range seq {
			if e != nil {
				return out, e
			}
			out = append(out, info.ID)
		}
		return out, nil
	}
	s := serve(t, answers{"GET /machines": says(
		`[{"id":"a","labels":{"team":"x","env":"ci=1"}},{"id":"b","labels":{"team":"y"}},{"id":"c"},{"state":"creating"},{"id":"d","labels":{"team":"x"}}]`,
	)})
	b := s.backend()
	for _, tt := range []struct {
		labels map[string]string
		want   []string
		query  string
	}{
		{nil, []string{"a", "b", "c", "d"}, "/machines"},
		// A service that does not know labels lists everything.
		{map[string]string{"team": "x"}, []string{"a", "d"}, "/machines?label=team%3Dx"},
		{map[string]string{"team": "x", "env": "ci=1"}, []string{"a"}, "/machines?label=env%3Dci%3D1&label=team%3Dx"},
		{map[string]string{"a&b": "c d"}, nil, "/machines?label=a%26b%3Dc+d"},
	} {
		got, err := ids(b.List(t.Context(), tt.labels))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", tt.labels, err, diff)
		}
		if last := s.requests()[len(s.requests())-1]; last != "GET "+tt.query {
			t.Errorf("%v: asked %q, want %q", tt.labels, last, tt.query)
		}
	}
	for _, bad := range []string{"", "a=b"} {
		if _, err := ids(b.List(t.Context(), map[string]string{bad: "x"})); !errors.Is(err, smol.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// Ranging again asks again, and leaving early is no error.
	before := s.count("GET /machines")
	seq := b.List(t.Context(), nil)
	for range 2 {
		for range seq {
			break
		}
	}
	if n := s.count("GET /machines") - before; n != 2 {
		t.Errorf("asked %d times for two rangings", n)
	}
}

// TestListIsCut: what came is given, and then the error; the end of a list that was cut is no end.
func TestListIsCut(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"by the connection": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `[{"id":"a"},{"id":"b"},{"id":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"by the service":         says(`[{"id":"a"},{"id":"b"}`),
		"by the service, inside": says(`[{"id":"a"},{"id":"b"},{"id"`),
	} {
		s := serve(t, answers{"GET /machines": answer})
		var got []string
		var last error
		for info, err := range s.backend().List(t.Context(), nil) {
			if last = err; err == nil {
				got = append(got, info.ID)
			}
		}
		if !errors.Is(last, smol.ErrUnavailable) || !strings.Contains(last.Error(), "cut") {
			t.Errorf("%s: %v", name, last)
		}
		if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestListIsNone(t *testing.T) {
	for _, body := range []string{`[{"id":7}]`, `[7]`, `"x"`, `[{"id":"a"} {"id":"b"}]`, `<html>`} {
		s := serve(t, answers{"GET /machines": says(body)})
		var last error
		for _, err := range s.backend().List(t.Context(), nil) {
			last = err
		}
		if e := asError(t, last); e.Code != smol.CodeUnknown || !strings.Contains(e.Message, "not understood") {
			t.Errorf("%s: %v", body, last)
		}
	}
}

// TestLongListIsCancelled: the machines come while the service still writes, and the context ends the reading.
func TestLongListIsCancelled(t *testing.T) {
	s := serve(t, answers{"GET /machines": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "[")
		for i := 0; r.Context().Err() == nil; i++ {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = io.WriteString(w, machine("started"))
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	var last error
	for _, err := range s.backend().List(ctx, nil) {
		if last = err; err == nil {
			n++
		}
		if n == 1000 {
			cancel()
		}
	}
	cancel()
	if !errors.Is(last, context.Canceled) || n < 1000 {
		t.Errorf("%d machines and then %v", n, last)
	}
}

func TestTenThousandMachines(t *testing.T) {
	var body strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&body, `,{"id":"m%d","name":"n%d","state":"stopped"}`, i, i)
	}
	s := serve(t, answers{
		"GET /machines": says("[" + body.String()[1:] + "]"), "GET /machines/n9999": fails(http.StatusNotFound, "", "machine not found"),
	})
	b := s.backend()
	n := 0
	for _, err := range b.List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if info, err := b.Inspect(t.Context(), "n9999"); n != 10_000 || err != nil || info.ID != "m9999" {
		t.Errorf("%d machines; %v, %v", n, info, err)
	}
}
