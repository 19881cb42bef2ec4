package cloud_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
)

const (
	getRoute    = "GET /machines/" + id
	startRoute  = "POST /machines/" + id + "/start"
	stopRoute   = "POST /machines/" + id + "/stop"
	deleteRoute = "DELETE /machines/" + id
)

var gone = fails(http.StatusNotFound, "not_found", "machine not found")

func TestStart(t *testing.T) {
	starting, started, stopped := says(machine("starting")), says(machine("started")), says(machine("stopped"))
	failed := says(machine("error", `"error":"start failed: pull image: no such tag"`))
	broken := fails(http.StatusInternalServerError, "", "pull image: no such tag")
	conflict := fails(http.StatusConflict, "", "machine is already started")
	busy := empty(http.StatusServiceUnavailable)
	for _, tt := range []struct {
		name  string
		start http.HandlerFunc
		get   http.HandlerFunc // nil: must not be asked
		err   error
		text  string // of the error
		hint  string
	}{
		{"started", started, nil, nil, "", ""},
		{"by the older word", says(machine("running")), nil, nil, "", ""},
		{"only the state", says(`{"state":"started"}`), started, nil, "", ""},
		{"starting", starting, inTurn(starting, starting, started), nil, "", ""},
		{"accepted", empty(http.StatusAccepted), inTurn(stopped, says(machine("creating")), starting, started), nil, "", ""},
		{"accepted with a body", saysStatus(http.StatusAccepted, machine("starting")), started, nil, "", ""},
		{"already started", conflict, started, nil, "", ""},
		{"the answer is lost", hangsUp, inTurn(stopped, starting, started), nil, "", ""},
		{"the answer is cut", says(`{"id":"` + id), started, nil, "", ""},
		{"a gateway gave up", empty(http.StatusGatewayTimeout), inTurn(starting, started), nil, "", ""},
		{"questions fail for a while", empty(http.StatusAccepted), inTurn(busy, busy, busy, busy, hangsUp, started), nil, "", ""},
		{"fails", broken, failed, smol.ErrNotFound, "pull image: no such tag", "check the image"},
		{"fails later", empty(http.StatusAccepted), inTurn(starting, failed), smol.ErrConflict, "start failed: pull image: no such tag", "check the image"},
		{"no image, later", empty(http.StatusAccepted), inTurn(starting, failed), smol.ErrNotFound, "pull image: no such tag", "check the image"},
		{"never begins", hangsUp, stopped, smol.ErrUnavailable, "cut", ""},
		{"ends at once", starting, stopped, smol.ErrConflict, "machine is stopped, not running", "workload has ended"},
		{"paused", fails(http.StatusConflict, "", "machine is paused"), says(machine("paused")), smol.ErrConflict, "machine is paused", ""},
		{"deleted while it starts", starting, inTurn(starting, gone), smol.ErrNotFound, "machine not found", "ephemeral"},
		{"not there", gone, nil, smol.ErrNotFound, "machine not found", "ephemeral"},
		{"the key goes bad", starting, fails(http.StatusUnauthorized, "expired_key", "API key has expired"), smol.ErrUnauthenticated, "expired", "make a key"},
		{"no credit", fails(http.StatusPaymentRequired, "payment_required", "no credit"), nil, smol.ErrPermission, "no credit", "console"},
		{"over the plan", fails(http.StatusUnprocessableEntity, "", "concurrency limit reached: plan Free"), nil, smol.ErrConflict, "concurrency", "stop machines"},
		{"questions fail for ever", empty(http.StatusAccepted), busy, smol.ErrUnavailable, "503", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			routes := answers{startRoute: tt.start}
			if tt.get != nil {
				routes[getRoute] = tt.get
			}
			s := serve(t, routes)
			info, err := s.backend().Start(t.Context(), id, nil)
			if n := s.count(startRoute); n != 1 {
				t.Errorf("was started %d times", n)
			}
			if tt.text == "" {
				if err != nil || info.State != smol.StateRunning || info.ID != id {
					t.Errorf("%v, %v", info, err)
				}
				return
			}
			if err == nil || tt.err != nil && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("%v, want one that says %q", err, tt.text)
			}
			if hint := hintOf(err); !strings.Contains(hint, tt.hint) {
				t.Errorf("hint %q, want %q", hint, tt.hint)
			}
		})
	}
}

func hintOf(err error) string {
	var e *smol.Error
	var state *smol.StateError
	switch {
	case errors.As(err, &e):
		return e.Hint
	case errors.As(err, &state):
		return state.Hint
	}
	return ""
}

// TestStartWaits: the wait has no end of its own, asks at a pace that the service can bear, and ends with its context.
func TestStartWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, svc := dialog(t, answers{startRoute: empty(http.StatusAccepted), getRoute: says(machine("starting"))})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err := svc.Backend().Start(ctx, id, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "start") {
			t.Error(err)
		}
		if n := m.count(getRoute); n < 200 || n > 500 {
			t.Errorf("asked %d times in ten minutes", n)
		}
	})
}

func TestStartOptions(t *testing.T) {
	s := serve(t, answers{startRoute: says(machine("started")), getRoute: says(machine("stopped", `"branchable":true`))})
	b := s.backend()
	if _, err := b.Start(t.Context(), id, &smol.StartOptions{Branchable: true}); err != nil {
		t.Error(err)
	}
	if got := s.requests(); got[len(got)-1] != "POST /machines/"+id+"/start?forkable=true" {
		t.Errorf("sent %q", got)
	}
	_, err := b.Start(t.Context(), id, &smol.StartOptions{RegistryUser: "me", RegistryPassword: "pw"})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "RegistryUser") {
		t.Error(err)
	}
	// What it was created without cannot be switched on, so it is not started without a word.
	s = serve(t, answers{getRoute: says(machine("stopped", `"branchable":false`))})
	_, err = s.backend().Start(t.Context(), id, &smol.StartOptions{Branchable: true})
	if !errors.Is(err, smol.ErrConflict) || !strings.Contains(hintOf(err), "Spec.Branchable") {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
}

func TestStop(t *testing.T) {
	started, stopped := says(machine("started")), says(machine("stopped"))
	conflict := fails(http.StatusConflict, "", "machine cannot be stopped now")
	for _, tt := range []struct {
		name  string
		stop  http.HandlerFunc
		get   http.HandlerFunc // nil: must not be asked
		state smol.State
		err   error
		sent  int
	}{
		{"stopped", stopped, nil, smol.StateStopped, nil, 1},
		{"only the state", says(`{"state":"stopped"}`), stopped, smol.StateStopped, nil, 1},
		{"no body", empty(http.StatusNoContent), stopped, smol.StateStopped, nil, 1},
		{"stopping", started, inTurn(started, says(machine("stopping")), stopped), smol.StateStopped, nil, 1},
		{"failed", started, says(machine("error")), smol.StateFailed, nil, 1},
		{"not running", conflict, stopped, smol.StateStopped, nil, 1},
		{"cannot", conflict, started, "", smol.ErrConflict, 1},
		{"lost once", inTurn(hangsUp, stopped), nil, smol.StateStopped, nil, 2},
		{"busy once", inTurn(empty(http.StatusServiceUnavailable), stopped), nil, smol.StateStopped, nil, 2},
		{"lost each time, and done", hangsUp, stopped, smol.StateStopped, nil, 3},
		{"lost each time, and not done", hangsUp, started, "", smol.ErrUnavailable, 3},
		{"an ephemeral one", inTurn(hangsUp, gone), nil, smol.StateDeleted, nil, 2},
		{"an ephemeral one, at once", started, gone, smol.StateDeleted, nil, 1},
		{"not there", gone, nil, "", smol.ErrNotFound, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			routes := answers{stopRoute: tt.stop}
			if tt.get != nil {
				routes[getRoute] = tt.get
			}
			s := serve(t, routes)
			info, err := s.backend().Stop(t.Context(), id, nil)
			if !errors.Is(err, tt.err) || tt.err == nil && (info.State != tt.state || info.ID != id) {
				t.Errorf("%v, %v", info, err)
			}
			if n := s.count(stopRoute); n != tt.sent {
				t.Errorf("sent %d times, want %d", n, tt.sent)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	done := empty(http.StatusNoContent)
	for _, tt := range []struct {
		name string
		del  http.HandlerFunc
		get  http.HandlerFunc // nil: must not be asked
		err  error
		sent int
	}{
		{"deleted", done, nil, nil, 1},
		{"with a body", says(machine("deleted")), nil, nil, 1},
		{"not there", gone, nil, smol.ErrNotFound, 1},
		{"lost, and done", inTurn(hangsUp, gone), nil, nil, 2},
		{"lost, and not done", inTurn(hangsUp, done), nil, nil, 2},
		{"lost each time, and done", hangsUp, gone, nil, 3},
		{"lost each time, and not done", hangsUp, says(machine("started")), smol.ErrUnavailable, 3},
		{"needed by branches", fails(http.StatusConflict, "", "machine has branches"), nil, smol.ErrConflict, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			routes := answers{deleteRoute: tt.del}
			if tt.get != nil {
				routes[getRoute] = tt.get
			}
			s := serve(t, routes)
			if err := s.backend().Delete(t.Context(), id, nil); !errors.Is(err, tt.err) {
				t.Error(err)
			}
			if n := s.count(deleteRoute); n != tt.sent {
				t.Errorf("sent %d times, want %d", n, tt.sent)
			}
		})
	}
}

// TestDeleteWithBranches deletes the youngest first, and only what descends from the machine.
func TestDeleteWithBranches(t *testing.T) {
	done := empty(http.StatusNoContent)
	s := serve(t, answers{
		"GET /machines/" + id + "/lineage": says(`{"rootMachineId":"root","machines":[{"id":"root"},{"id":"` + id + `","parentMachineId":"root"},
			{"id":"aunt","parentMachineId":"root"},{"id":"child","parentMachineId":"` + id + `"},{"id":"grandchild","parentMachineId":"child"},
			{"id":"dead","state":"deleted","parentMachineId":"child"},{"id":"lost","parentMachineId":"lost"}]}`),
		"DELETE /machines/child": done, "DELETE /machines/grandchild": gone, deleteRoute: done,
	})
	if err := s.backend().Delete(t.Context(), id, &smol.DeleteOptions{Cascade: true}); err != nil {
		t.Error(err)
	}
	want := []string{"GET /machines/" + id + "/lineage", "DELETE /machines/grandchild", "DELETE /machines/child", deleteRoute}
	if diff := cmp.Diff(want, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A branch that stays keeps its source.
	s = serve(t, answers{
		"GET /machines/" + id + "/lineage": says(`{"machines":[{"id":"child","parentMachineId":"` + id + `"}]}`),
		"DELETE /machines/child":           fails(http.StatusForbidden, "", "missing scope: machine:delete"),
	})
	if err := s.backend().Delete(t.Context(), id, &smol.DeleteOptions{Cascade: true}); !errors.Is(err, smol.ErrPermission) {
		t.Error(err)
	}
	// A service without lineage has no branches to tell of.
	for _, none := range []http.HandlerFunc{empty(http.StatusNotFound), empty(http.StatusMethodNotAllowed), empty(http.StatusNotImplemented)} {
		s = serve(t, answers{"GET /machines/" + id + "/lineage": none, deleteRoute: done})
		if err := s.backend().Delete(t.Context(), id, &smol.DeleteOptions{Cascade: true}); err != nil {
			t.Error(err)
		}
	}
}
