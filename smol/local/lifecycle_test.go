package local_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

func TestList(t *testing.T) {
	seed := `{"name":"image-seed-1","state":"stopped"}`
	s := serve(t, answers{"GET /machines": says(`{"machines":[` + machine("running") + `,` + seed + `]}`)})
	b := s.backend()
	seq := b.List(t.Context(), nil)
	for range 2 { // ranging again asks again
		var names []string
		for info, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
		if diff := cmp.Diff([]string{"m", "image-seed-1"}, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for range seq {
		break
	}
	for _, err := range b.List(t.Context(), map[string]string{"a": "b"}) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("labels: %v", err)
		}
	}
	if n := len(s.requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestHealth(t *testing.T) {
	for body, want := range map[string]local.Health{
		healthy: {Status: "ok", Version: "1.14.5", Machines: 3, Running: 1, Uptime: 12e9},
		`{"status":"ok","version":"1.9.2","uptime_seconds":1}`: {Status: "ok", Version: "1.9.2", Machines: -1, Running: -1, Uptime: 1e9},
	} {
		s := serve(t, answers{"GET /health": says(body)})
		svc, err := local.New(&local.Options{URL: s.url})
		if err != nil {
			t.Fatal(err)
		}
		got, err := svc.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_ = svc.Close()
	}
}

// TestStartQuery wants the branchable flag under the name that the release knows, and never both.
func TestStartQuery(t *testing.T) {
	for version, want := range map[string]string{
		"1.9.2": "forkable=true", "1.13.9": "forkable=true", "1.14.0": "branchable=true", "1.23.0-rc1": "branchable=true", "2.0": "branchable=true",
		"": "forkable=true", "next": "forkable=true", "1.x": "forkable=true",
	} {
		s := serve(t, answers{
			"GET /health":            says(`{"status":"ok","version":"` + version + `"}`),
			"POST /machines/m/start": says(machine("running")),
		})
		if _, err := s.backend().Start(t.Context(), "m", &smol.StartOptions{Branchable: true}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"GET /health", "POST /machines/m/start?" + want + " {}"}, s.requests()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", version, diff)
		}
	}
}

func TestStartBody(t *testing.T) {
	for _, tt := range []struct {
		opts *smol.StartOptions
		want string
	}{
		{nil, "{}"},
		{&smol.StartOptions{}, "{}"},
		{&smol.StartOptions{RegistryUser: "u", RegistryPassword: "p<>"}, `{"registryAuth":{"password":"p<>","username":"u"}}`},
	} {
		s := serve(t, answers{"POST /machines/m/start": func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			says(machine("running"))(w, r)
		}})
		if _, err := s.backend().Start(t.Context(), "m", tt.opts); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"POST /machines/m/start " + tt.want}, s.requests()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	s := serve(t, nil)
	for _, o := range []smol.StartOptions{{RegistryUser: "u"}, {RegistryPassword: "secret"}} {
		_, err := s.backend().Start(t.Context(), "m", &o)
		if e := asError(t, err); e.Code != smol.CodeInvalid || strings.Contains(e.Error(), "secret") {
			t.Errorf("%+v", e)
		}
	}
}

func TestStartAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		code   smol.Code
		hint   string
	}{
		{"frozen", fails(409, "CONFLICT", "machine 'm' is frozen because it is the fork base for 2 live clone(s) (a, b); delete the clones first"), smol.CodeConflict, "branches"},
		{"checkpoint", fails(409, "CONFLICT", "machine 'm' is frozen because it retains a reusable fork checkpoint; stop it before restarting, or fork it again"), smol.CodeConflict, "stop it"},
		{"port", fails(409, "PORT_IN_USE", "Address already in use"), smol.CodeConflict, "Port.Host"},
		{"pull", fails(500, "INTERNAL_ERROR", "agent operation failed: pull image: denied: access forbidden"), smol.CodeInternal, "image's name"},
		{"no image", fails(500, "INTERNAL_ERROR", "agent operation failed: pull image: MANIFEST_UNKNOWN: manifest unknown"), smol.CodeNotFound, "image's name"},
		{"no KVM", fails(500, "INTERNAL_ERROR", "failed to start machine: kvm not available: /dev/kvm"), smol.CodeUnsupported, "virtualization"},
		{"KVM forbidden", fails(500, "INTERNAL_ERROR", "failed to start machine: kvm permission denied: /dev/kvm"), smol.CodePermissionDenied, "/dev/kvm"},
		{"no rootfs", fails(500, "INTERNAL_ERROR", "failed to start machine: io operation failed: No such file or directory (os error 2)"), smol.CodeInternal, ""},
	} {
		s := serve(t, answers{"POST /machines/m/start": tt.answer})
		_, err := s.backend().Start(t.Context(), "m", nil)
		if e := asError(t, err); e.Code != tt.code || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s: %+v", tt.name, e)
		}
		if n := len(s.requests()); n != 1 {
			t.Errorf("%s: %d requests", tt.name, n)
		}
	}
}

// TestStartCutOff follows a start whose answer was lost, or that an earlier one blocks, to its end.
func TestStartCutOff(t *testing.T) {
	const held = "failed to start machine: another process is already starting or running this VM"
	done := says(`{"exitCode":0,"stdout":"","stderr":"","stdoutB64":"","stderrB64":""}`)
	adopt := `POST /machines/m/exec {"command":["true"],"timeoutSecs":30}`
	for _, tt := range []struct {
		name   string
		start  http.HandlerFunc
		state  http.HandlerFunc
		exec   http.HandlerFunc
		ok     bool
		status int
		want   []string // after the start
	}{
		{"it runs", gaveUp, says(machine("running")), nil, true, 0, []string{"GET /machines/m"}},
		{"it runs behind the service's back", gaveUp, inTurn(says(machine("created")), says(machine("running"))), done, true, 0, []string{"GET /machines/m", adopt, "GET /machines/m"}},
		{"cut connection", hangsUp, inTurn(says(machine("stopped")), says(machine("running"))), done, true, 0, []string{"GET /machines/m", adopt, "GET /machines/m"}},
		{"no true in the image", gaveUp, inTurn(says(machine("stopped")), says(machine("running"))), fails(500, "INTERNAL_ERROR", "agent operation failed: vm exec: failed to spawn command: No such file or directory (os error 2)"), true, 0, []string{"GET /machines/m", adopt, "GET /machines/m"}},
		{"held by an earlier start", fails(500, "INTERNAL_ERROR", held), inTurn(says(machine("stopped")), says(machine("running"))), done, true, 0, []string{"GET /machines/m", adopt, "GET /machines/m"}},
		{"held by another process", fails(500, "INTERNAL_ERROR", held), says(machine("stopped")), fails(500, "INTERNAL_ERROR", held), false, 500, []string{"GET /machines/m", adopt, "GET /machines/m"}},
		{"it does not start", gaveUp, says(machine("stopped")), gaveUp, false, 408, []string{"GET /machines/m", adopt, "GET /machines/m"}},
		{"a command would harm it", gaveUp, says(machine("unreachable")), nil, false, 408, []string{"GET /machines/m"}},
		{"gone", gaveUp, fails(404, "NOT_FOUND", "machine 'm' not found"), nil, false, 408, []string{"GET /machines/m"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{"POST /machines/m/start": tt.start, "GET /machines/m": tt.state, "POST /machines/m/exec": tt.exec})
			info, err := s.backend().Start(t.Context(), "m", nil)
			if tt.ok && (err != nil || info.State != smol.StateRunning) {
				t.Errorf("got %+v, %v", info, err)
			}
			if !tt.ok {
				if e := asError(t, err); e.Status != tt.status || e.Op != "start" || e.Hint == "" {
					t.Errorf("got %+v", e)
				}
			}
			if diff := cmp.Diff(append([]string{"POST /machines/m/start {}"}, tt.want...), s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStartCutOffBranchable wants a machine that can be branched, or none: a command boots it without that.
func TestStartCutOffBranchable(t *testing.T) {
	const start = "POST /machines/m/start"
	stopped, plain := says(machine("stopped")), says(machine("running"))
	branchable := says(strings.Replace(machine("running"), `"forkable":false`, `"forkable":true`, 1))
	for _, tt := range []struct {
		name         string
		start, state http.HandlerFunc
		ok           bool
		starts       int
		stops        int
	}{
		{"it is one", gaveUp, inTurn(stopped, branchable), true, 1, 0},
		{"it becomes one", inTurn(gaveUp, branchable), inTurn(stopped, plain), true, 2, 1},
		{"cut off again and one at last", gaveUp, inTurn(stopped, plain, stopped, branchable), true, 2, 1},
		{"cut off again", gaveUp, inTurn(stopped, plain, stopped, plain), false, 2, 2},
		{"it cannot be started again", inTurn(gaveUp, fails(500, "INTERNAL_ERROR", "no")), inTurn(stopped, plain), false, 2, 1},
		{"it ran before, and what runs in it is somebody's", gaveUp, plain, true, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{
				"GET /health":            says(`{"status":"ok","version":"1.22.2"}`),
				"POST /machines/m/start": tt.start, "GET /machines/m": tt.state, "POST /machines/m/stop": stopped,
				"POST /machines/m/exec": says(`{"exitCode":0,"stdout":"","stderr":"","stdoutB64":"","stderrB64":""}`),
			})
			info, err := s.backend().Start(t.Context(), "m", &smol.StartOptions{Branchable: true})
			if tt.ok && (err != nil || info.State != smol.StateRunning) {
				t.Errorf("got %+v, %v", info, err)
			}
			if !tt.ok {
				if e := asError(t, err); e.Op != "start" || e.Machine != "m" || tt.stops == 2 && (!errors.Is(err, smol.ErrConflict) || e.Hint == "") {
					t.Errorf("got %+v", e)
				}
			}
			if n, stops := s.count(start), s.count("POST /machines/m/stop"); n != tt.starts || stops != tt.stops {
				t.Errorf("%d starts and %d stops: %q", n, stops, s.requests())
			}
		})
	}
}

func TestStartCutOffAndCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, answers{
		"POST /machines/m/start": gaveUp,
		"GET /machines/m":        says(machine("stopped")),
		"POST /machines/m/exec": func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		},
	})
	if _, err := s.backend().Start(ctx, "m", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStopCutOff(t *testing.T) {
	s := serve(t, answers{
		"POST /machines/m/stop": gaveUp,
		"GET /machines/m":       inTurn(says(machine("running")), says(machine("unreachable")), hangsUp, says(machine("stopped"))),
	})
	info, err := s.backend().Stop(t.Context(), "m", nil)
	if err != nil || info.State != smol.StateStopped {
		t.Errorf("got %+v, %v", info, err)
	}
	if n := s.count("POST /machines/m/stop"); n != 1 {
		t.Errorf("sent %d times", n)
	}

	s = serve(t, answers{"POST /machines/m/stop": gaveUp, "GET /machines/m": says(machine("running"))})
	_, err = s.backend().Stop(t.Context(), "m", nil)
	if e := asError(t, err); e.Status != 408 || e.Op != "stop" {
		t.Errorf("got %+v", e)
	}
}

func TestStopAndDeleteAnswers(t *testing.T) {
	base := fails(409, "CONFLICT", "machine 'm' is the fork base of 1 live clone(s) (c); their disks are backed by its disks — delete the clones first")
	s := serve(t, answers{"POST /machines/m/stop": base, "DELETE /machines/m": base})
	_, stop := s.backend().Stop(t.Context(), "m", nil)
	del := s.backend().Delete(t.Context(), "m", nil)
	for _, err := range []error{stop, del} {
		if e := asError(t, err); e.Code != smol.CodeConflict || !strings.Contains(e.Hint, "branches") || !strings.Contains(e.Message, "(c)") {
			t.Errorf("got %+v", e)
		}
	}
}

func TestDelete(t *testing.T) {
	s := serve(t, answers{"DELETE /machines/m": inTurn(says(`{"deleted":"m"}`), says(`{"deleted":"m"}`), fails(404, "NOT_FOUND", "machine 'm' not found"))})
	b := s.backend()
	if err := b.Delete(t.Context(), "m", nil); err != nil {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), "m", &smol.DeleteOptions{Cascade: true}); err != nil {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), "m", nil); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	// force has no effect on any release, and is not sent.
	want := []string{"DELETE /machines/m", "DELETE /machines/m?cascade=true", "DELETE /machines/m"}
	if diff := cmp.Diff(want, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDeleteCutOff(t *testing.T) {
	const alive = "machine 'm' process (pid unknown) is still alive after shutdown; not removing"
	missing := fails(404, "NOT_FOUND", "machine 'm' not found")
	done := says(`{"exitCode":0,"stdout":"","stderr":"","stdoutB64":"","stderrB64":""}`)
	for _, tt := range []struct {
		name    string
		del     http.HandlerFunc
		state   http.HandlerFunc
		ok      bool
		hint    string
		deletes int
	}{
		{"it is gone", gaveUp, missing, true, "", 1},
		{"cut, and gone", hangsUp, missing, true, "", 1},
		{"it is still there", gaveUp, says(machine("stopped")), false, "delete it again", 1},
		{"nobody knows", gaveUp, fails(500, "INTERNAL_ERROR", "database error: locked"), false, "look at the machine", 1},
		{"left over by a start that was cut off", inTurn(fails(500, "INTERNAL_ERROR", alive), says(`{}`)), inTurn(says(machine("created")), says(machine("running"))), true, "", 2},
		{"left over and not to be had", fails(500, "INTERNAL_ERROR", alive), says(machine("created")), false, "try again", 1},
		{"it does not die", fails(500, "INTERNAL_ERROR", "machine 'm' process (pid 7) is still alive after shutdown; not removing"), nil, false, "try again", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answers{"DELETE /machines/m": tt.del, "GET /machines/m": tt.state, "POST /machines/m/exec": done})
			err := s.backend().Delete(t.Context(), "m", nil)
			if tt.ok && err != nil {
				t.Error(err)
			}
			if !tt.ok {
				if e := asError(t, err); e.Op != "delete" || !strings.Contains(e.Hint, tt.hint) {
					t.Errorf("got %+v", e)
				}
			}
			if n := s.count("DELETE /machines/m"); n != tt.deletes {
				t.Errorf("%d deletes: %q", n, s.requests())
			}
		})
	}
}
