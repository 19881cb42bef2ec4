package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

// figures are what tests look at in a bill.
type figures struct {
	Usage struct {
		TotalUptimeSeconds                 int64
		CPUHours                           float64 `json:"cpuHours"`
		MemoryGBHours                      float64 `json:"memoryGbHours"`
		DiskGBHours                        float64 `json:"diskGbHours"`
		MachineCount                       int
		From, To, ConsumedFrom, ConsumedTo time.Time
		TenantID                           string
	}
	Cost cost
}

type cost struct {
	BaseMicros, CPUMicros, MemoryMicros, DiskMicros, ExecMicros, TotalMicros, AmountDueMicros int64
	MonthlyFeeMicros, CreditAppliedMicros                                                     int64
}

// sized is a machine of 2 CPUs, 1 GiB and 10 GB: by the default rates 1 + 2·10 + 2 micros a second while it runs, and one always.
const sized = `,"resources":{"cpus":2,"memoryMb":1024,"diskGb":10}`

func (r *rig) bill(id string) figures {
	r.t.Helper()
	var f figures
	r.must(200, "GET", one(id, "/usage"), "").json(r.t, &f)
	return f
}

func TestUsage(t *testing.T) {
	r := newRig(t, nil)
	id := r.create(sized)
	r.clock.Advance(100 * time.Second)
	if diff := cmp.Diff(cost{DiskMicros: 100, TotalMicros: 100, AmountDueMicros: 100}, r.bill(id).Cost); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
	r.must(200, "POST", one(id, "/start"), "")
	r.clock.Advance(200 * time.Second)
	// CPU and memory are known by the samples only, which come every five minutes.
	if diff := cmp.Diff(cost{BaseMicros: 200, DiskMicros: 300, TotalMicros: 500, AmountDueMicros: 500}, r.bill(id).Cost); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	r.clock.Advance(105 * time.Second)
	if f := r.bill(id); f.Cost.CPUMicros != 6100 || f.Cost.MemoryMicros != 610 || f.Usage.TotalUptimeSeconds != 305 {
		t.Errorf("after a sample: %+v", f)
	}
	r.clock.Advance(55 * time.Second)
	r.must(200, "POST", one(id, "/stop"), "") // takes one too
	r.clock.Advance(40 * time.Second)
	settled := cost{BaseMicros: 360, CPUMicros: 7200, MemoryMicros: 720, DiskMicros: 500, TotalMicros: 8780, AmountDueMicros: 8780}
	f := r.bill(id)
	if diff := cmp.Diff(settled, f.Cost); diff != "" {
		t.Errorf("stopped again (-want +got):\n%s", diff)
	}
	if u := f.Usage; u.TotalUptimeSeconds != 360 || u.CPUHours != 0.2 || u.MemoryGBHours != 0.1 || u.MachineCount != 1 || u.TenantID != "tenant-1" {
		t.Errorf("%+v", u)
	}
	var last figures
	r.must(200, "DELETE", one(id, "?includeUsage=true"), "").json(t, &last)
	if diff := cmp.Diff(settled, last.Cost); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	r.clock.Advance(24 * time.Hour)
	r.restart()
	if diff := cmp.Diff(settled, r.bill(id).Cost); diff != "" {
		t.Errorf("a day later (-want +got):\n%s", diff)
	}
	r.clock.Advance(29 * 24 * time.Hour)
	r.must(404, "GET", one(id, "/usage"), "")
}

func TestUsageRefused(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) {
		o.Old.NoFinalUsage = true
		o.Keys = []cloud.Key{{Token: "other", Account: "other"}}
	})
	id := r.create("")
	r.must(404, "GET", one(id, "/usage"), "", "Authorization", "Bearer other")
	r.must(400, "DELETE", one(id, "?includeUsage=maybe"), "")
	if a := r.must(204, "DELETE", one(id, "?includeUsage=true"), ""); a.body != "" {
		t.Errorf("%s", a)
	}
	r.must(404, "DELETE", one(id, "?includeUsage=true"), "")
	r.must(404, "GET", one(id, "/usage"), "", "Authorization", "Bearer other")
	r.must(200, "GET", one(id, "/usage"), "")
}

// A pause and a frozen source cost their disk; a resize costs from when it is made.
func TestUsageOfStates(t *testing.T) {
	r := newRig(t, nil)
	id := r.up(sized + `,"branchable":true`)
	steps := []struct{ path, body string }{
		{"/pause", ""}, {"/resume", ""}, {"/resize", `{"cpus":4,"diskGb":20}`}, {"/branches", `{"name":"b","freezeSource":true}`}, {"/stop", ""}, {"/start", ""},
	}
	for _, s := range steps {
		r.clock.Advance(100 * time.Second)
		if a := r.do("POST", one(id, s.path), s.body); a.status > 201 {
			t.Fatalf("%s: %s", s.path, a)
		}
	}
	// It ran from 0 to 100, from 200 to 300 and, with 4 CPUs, from 300 to 400; the disk was 10 GB until 300 and 20 GB from then on.
	want := cost{BaseMicros: 300, CPUMicros: 100*20 + 100*20 + 100*40, MemoryMicros: 600, DiskMicros: 300 + 600}
	want.TotalMicros = want.BaseMicros + want.CPUMicros + want.MemoryMicros + want.DiskMicros
	want.AmountDueMicros = want.TotalMicros
	if diff := cmp.Diff(want, r.bill(id).Cost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAccount(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) {
		p := cloud.DefaultPlan()
		budget := int64(10000)
		p.MonthlyFeeMicros, p.FreeCreditMicros, p.MonthlyBudgetMicros = 1000, 300, &budget
		o.Plan, o.Credit = &p, 5000
		o.Keys = []cloud.Key{{Token: "other", Account: "other"}}
	})
	kept, gone := r.create(sized), r.create(sized)
	r.clock.Advance(100 * time.Second)
	r.must(204, "DELETE", one(gone, ""), "")
	r.clock.Advance(100 * time.Second)
	var a struct {
		TenantID, Status                           string
		Plan                                       struct{ Name string }
		EffectiveMaxCPUs                           int `json:"effectiveMaxCpus"`
		PeriodUsage                                struct{ MachineCount int }
		PeriodCost                                 cost
		PrepaidCreditMicros, BudgetRemainingMicros int64
	}
	r.must(200, "GET", "/v1/account", "").json(t, &a)
	want := cost{DiskMicros: 300, MonthlyFeeMicros: 1000, TotalMicros: 1300, CreditAppliedMicros: 300, AmountDueMicros: 1000}
	if diff := cmp.Diff(want, a.PeriodCost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.TenantID != "tenant-1" || a.Status != "active" || a.Plan.Name != "Developer" || a.EffectiveMaxCPUs != 16 || a.PeriodUsage.MachineCount != 2 ||
		a.PrepaidCreditMicros != 4000 || a.BudgetRemainingMicros != 9000 {
		t.Errorf("%+v", a)
	}
	r.clock.Advance(time.Hour) // 3600 for the disk
	r.clock.Advance(time.Hour)
	for _, tt := range []struct{ method, path, body string }{
		{"POST", "/v1/machines", withSource("")},
		{"POST", one(kept, "/start"), ""},
		{"POST", one(kept, "/start?detach=true"), ""},
		{"POST", one(kept, "/exec"), `{"command":["echo"]}`},
		{"GET", one(kept, "/files/a"), ""},
		{"POST", "/v1/checkpoints", `{"sizeBytes":1}`},
	} {
		if a := r.do(tt.method, tt.path, tt.body); a.status != 402 || !strings.Contains(a.body, `"code":"payment_required"`) {
			t.Errorf("%s %s without credit: %s", tt.method, tt.path, a)
		}
	}
	r.must(201, "POST", "/v1/machines", withSource(""), "Authorization", "Bearer other")
	r.must(200, "GET", one(kept, ""), "")
	r.must(204, "DELETE", one(kept, ""), "")
	broke := newRig(t, func(o *cloud.Options) { o.Credit = -1 })
	broke.must(402, "POST", "/v1/machines", withSource(""))
}

func TestAccountUsage(t *testing.T) {
	r := newRig(t, nil)
	r.up(sized)
	r.clock.Advance(10 * time.Minute)
	at := func(d time.Duration) string { return r0.Add(d).Format(time.RFC3339) }
	for query, want := range map[string]int64{
		"": 600, "?from=" + at(5*time.Minute): 300, "?to=" + at(5*time.Minute): 300, "?from=" + at(-time.Hour) + "&to=" + at(-time.Minute): 0,
		"?from=" + at(time.Minute) + "&to=" + at(2*time.Minute): 60,
	} {
		var u struct {
			TotalUptimeSeconds       int64
			CPUHours                 float64 `json:"cpuHours"`
			ConsumedFrom, ConsumedTo time.Time
		}
		r.must(200, "GET", "/v1/usage"+query, "").json(t, &u)
		if u.TotalUptimeSeconds != want || u.CPUHours*3 != 1 || !u.ConsumedTo.Equal(r0.Add(10*time.Minute)) || u.ConsumedFrom.Day() != 1 {
			t.Errorf("%q: %+v, want %d s", query, u, want)
		}
	}
	for _, query := range []string{"?from=yesterday", "?to=", "?from=" + at(time.Hour), "?from=" + at(0) + "&from=" + at(0)} {
		r.must(400, "GET", "/v1/usage"+query, "")
	}
}

// A new month begins a new bill.
func TestMonth(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Credit = 1 << 60 })
	id := r.create(sized)
	r.clock.Advance(time.Date(2026, 11, 1, 0, 0, 10, 0, time.UTC).Sub(r0))
	if f := r.bill(id); f.Cost.DiskMicros != 10 || f.Usage.From.Month() != time.November {
		t.Errorf("%+v", f)
	}
}
