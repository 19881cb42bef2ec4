package cloud_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
)

const (
	usageRoute  = "GET /machines/" + id + "/usage"
	eventsRoute = "GET /machines/" + id + "/events"
)

const bill = `{"machineId":"` + id + `","from":"2026-10-01T00:00:00Z","to":"2026-10-04T00:00:00Z",
	"usage":{"tenantId":"t","from":"2026-10-01T00:00:00Z","to":"2026-10-04T00:00:00Z","consumedFrom":"2026-10-02T00:00:00Z","consumedTo":"2026-10-03T00:00:00Z",
	"totalUptimeSeconds":90,"cpuHours":0.5,"memoryGbHours":1.5,"diskGbHours":2.5,"egressGb":0.25,"machineCount":1},
	"cost":{"cpuMicros":1,"memoryMicros":2,"execMicros":0,"totalMicros":100,"baseMicros":3,"diskMicros":4,"egressMicros":5,"monthlyFeeMicros":6,
	"freeCreditMicros":7,"creditAppliedMicros":8,"volumeDiscountMicros":9,"amountDueMicros":83}}`

func day(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }

func billed() *cloud.MachineUsage {
	return &cloud.MachineUsage{
		Usage: cloud.Usage{
			From: day(1), To: day(4), MeteredFrom: day(2), MeteredTo: day(3), Uptime: 90 * time.Second, Machines: 1,
			CPUHours: 0.5, MemoryGBHours: 1.5, DiskGBHours: 2.5, EgressGB: 0.25,
		},
		Cost: cloud.Cost{Due: 83, Total: 100, Base: 3, CPU: 1, Memory: 2, Disk: 4, Egress: 5, MonthlyFee: 6, CreditApplied: 8, VolumeDiscount: 9},
	}
}

func TestUsage(t *testing.T) {
	s := serve(t, answers{usageRoute: inTurn(says(bill), says(`{"usage":{"totalUptimeSeconds":1},"cost":{"totalMicros":5}}`), gone), getRoute: says(machine("started"))})
	m := s.service().Machine(id)
	got, err := m.Usage(t.Context())
	if diff := cmp.Diff(billed(), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// A service that does not tell what is due leaves the total.
	if got, err = m.Usage(t.Context()); err != nil || got.Cost.Due != 5 || got.Uptime != time.Second {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = m.Usage(t.Context()); !errors.Is(err, smol.ErrNotFound) || asError(t, err).Op != "usage" {
		t.Error(err)
	}
	if n := s.count(getRoute); n != 1 {
		t.Errorf("resolved %d times", n)
	}
}

func TestDeleteWithUsage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		del    http.HandlerFunc
		usage  http.HandlerFunc // nil: must not be asked
		err    error
		text   string
		billed bool
	}{
		{"told at once", says(bill), nil, nil, "", true},
		{"an older service", empty(http.StatusNoContent), says(bill), nil, "", true},
		{"the answer is lost", inTurn(hangsUp, gone), says(bill), nil, "", true},
		{"an older service that forgets", empty(http.StatusNoContent), gone, smol.ErrNotFound, "the machine is deleted, and what it used is not known", false},
		{"not there", gone, nil, smol.ErrNotFound, "machine not found", false},
		{"refused", fails(http.StatusForbidden, "", "missing scope: machine:delete"), nil, smol.ErrPermission, "missing scope", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			routes := answers{deleteRoute: tt.del, getRoute: says(machine("started"))}
			if tt.usage != nil {
				routes[usageRoute] = tt.usage
			}
			s := serve(t, routes)
			got, err := s.service().Machine(id).DeleteWithUsage(t.Context(), nil)
			if !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want one that says %q", err, tt.text)
			}
			if tt.billed {
				if diff := cmp.Diff(billed(), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			for _, r := range s.requests() {
				if strings.HasPrefix(r, deleteRoute) && r != deleteRoute+"?includeUsage=true" {
					t.Errorf("sent %q", r)
				}
			}
		})
	}
}

func TestEvents(t *testing.T) {
	s := serve(t, answers{
		eventsRoute: says(`[{"id":"e1","level":"info","message":"created","createdAt":"2026-10-01T00:00:00Z"},
			{"id":"e2","level":"error","message":"start failed","createdAt":null},{"id":"e3","level":"info","message":"deleted","createdAt":"2026-10-03T00:00:00Z"}]`),
		getRoute: says(machine("stopped")),
	})
	m := s.service().Machine(id)
	all := []*cloud.Event{
		{ID: "e1", Level: "info", Message: "created", At: day(1)},
		{ID: "e2", Level: "error", Message: "start failed"},
		{ID: "e3", Level: "info", Message: "deleted", At: day(3)},
	}
	for _, tt := range []struct {
		opts *cloud.EventsOptions
		want []*cloud.Event
	}{
		{nil, all},
		{&cloud.EventsOptions{After: "e1"}, all[1:]},
		{&cloud.EventsOptions{After: "e3"}, nil},
		{&cloud.EventsOptions{After: "e0"}, all}, // not kept any more
	} {
		var got []*cloud.Event
		for e, err := range m.Events(t.Context(), tt.opts) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.opts, diff)
		}
	}
	for range m.Events(t.Context(), nil) {
		break
	}
}

func TestAccount(t *testing.T) {
	s := serve(t, answers{"GET /account": inTurn(
		says(`{"tenantId":"org-7","status":"active","plan":{"id":"p","name":"Pro","maxConcurrentMachines":5},"effectiveMaxMachines":10,
			"effectiveMaxCpus":8,"effectiveMaxMemoryMb":16384,"effectiveMaxDiskGb":100,"periodUsage":{"machineCount":3},
			"periodCost":{"totalMicros":9,"amountDueMicros":0},"prepaidCreditMicros":77,"monthlyBudgetMicros":1000,"budgetRemainingMicros":0}`),
		says(`{"tenantId":"org-8","status":"waitlisted"}`),
	)})
	svc := s.service()
	got, err := svc.Account(t.Context())
	budget, left := cloud.Micros(1000), cloud.Micros(0)
	want := &cloud.Account{
		ID: "org-7", Status: "active", Plan: "Pro", MaxMachines: 10, MaxRunning: 5,
		MaxMachine: smol.Resources{CPUs: 8, MemoryMiB: 16384, DiskGiB: 100}, Usage: cloud.Usage{Machines: 3}, Cost: cloud.Cost{Total: 9},
		Prepaid: 77, Budget: &budget, BudgetLeft: &left,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = svc.Account(t.Context())
	if diff := cmp.Diff(&cloud.Account{ID: "org-8", Status: "waitlisted"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestHealth(t *testing.T) {
	h := &server{t: t}
	m := &inMemory{handler: h.handler(answers{"GET /health": says(`{"version":"0.1.0","apiVersion":2,"capabilities":["machine.branch"],"uptimeSecs":60}`)})}
	svc := newService(t, &cloud.Options{URL: "https://cloud.test", Token: token, HTTPClient: &http.Client{Transport: m}})
	got, err := svc.Health(t.Context())
	want := &cloud.Health{Version: "0.1.0", APIVersion: 2, Capabilities: []string{"machine.branch"}, Uptime: time.Minute}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// wrapped is a backend around another, as a user may write one.
type wrapped struct{ smol.Backend }

func (w wrapped) Unwrap() smol.Backend { return w.Backend }

// opaque hides the backend that it wraps.
type opaque struct{ smol.Backend }

func TestExtend(t *testing.T) {
	s := serve(t, answers{usageRoute: says(bill), getRoute: says(machine("started"))})
	b := s.backend()
	for name, tt := range map[string]struct {
		backend smol.Backend
		ok      bool
	}{"ours": {b, true}, "wrapped": {wrapped{wrapped{b}}, true}, "opaque": {opaque{b}, false}} {
		plain := smol.NewFleet(tt.backend).Machine(id)
		m, ok := cloud.Extend(plain)
		if ok != tt.ok {
			t.Errorf("%s: %v", name, ok)
			continue
		}
		if !ok {
			continue
		}
		if _, err := m.Usage(t.Context()); err != nil || m.Machine != plain {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := cloud.Extend(nil); ok {
		t.Error("extended no machine")
	}
}
