package cloud

import (
	"math"
	"net/http"
	"time"
)

// usageView is what was used.
type usageView struct {
	TenantID           string    `json:"tenantId"`
	From               time.Time `json:"from"`
	To                 time.Time `json:"to"`
	ConsumedFrom       time.Time `json:"consumedFrom"`
	ConsumedTo         time.Time `json:"consumedTo"`
	TotalUptimeSeconds int64     `json:"totalUptimeSeconds"`
	CPUHours           float64   `json:"cpuHours"`
	MemoryGBHours      float64   `json:"memoryGbHours"`
	DiskGBHours        float64   `json:"diskGbHours"`
	EgressGB           float64   `json:"egressGb"`
	MachineCount       int       `json:"machineCount"`
}

// costView is what that costs, in micros.
type costView struct {
	CPU            int64 `json:"cpuMicros"`
	Memory         int64 `json:"memoryMicros"`
	Exec           int64 `json:"execMicros"`
	Total          int64 `json:"totalMicros"`
	Base           int64 `json:"baseMicros"`
	Disk           int64 `json:"diskMicros"`
	Egress         int64 `json:"egressMicros"`
	MonthlyFee     int64 `json:"monthlyFeeMicros"`
	FreeCredit     int64 `json:"freeCreditMicros"`
	CreditApplied  int64 `json:"creditAppliedMicros"`
	VolumeDiscount int64 `json:"volumeDiscountMicros"`
	AmountDue      int64 `json:"amountDueMicros"`
}

// periodStart is when the billing period of a time began: the first of its month.
func periodStart(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// micros is a price to the nearest micro.
func micros(hours float64, rate int64) int64 { return int64(math.Round(hours * float64(rate))) }

// cost is the price of an amount.
func (s *Server) cost(a amount) costView {
	p := s.o.Plan
	c := costView{
		CPU: micros(a.cpuHours, p.RateCPUHourMicros), Memory: micros(a.memoryHours, p.RateMemoryGBHourMicros),
		Base: micros(float64(a.seconds())/3600, p.RateBaseHourMicros), Disk: micros(a.diskHr, p.RateDiskGBHourMicros),
	}
	c.Total = c.CPU + c.Memory + c.Base + c.Disk
	c.AmountDue = c.Total
	return c
}

// show is an amount as it is told.
func (a amount) show(account string, from, to time.Time, machines int) usageView {
	return usageView{
		TenantID: account, From: from, To: to, ConsumedFrom: from, ConsumedTo: to, TotalUptimeSeconds: a.seconds(),
		CPUHours: a.cpuHours, MemoryGBHours: a.memoryHours, DiskGBHours: a.diskHr, MachineCount: machines,
	}
}

// machineUsage is the bill of one machine in the present period.
type machineUsage struct {
	MachineID string    `json:"machineId"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Usage     usageView `json:"usage"`
	Cost      costView  `json:"cost"`
}

func (s *Server) usageOf(rec *record) *machineUsage {
	now := s.now()
	from := periodStart(now)
	a := rec.Meter.used(from, now, now)
	return &machineUsage{rec.ID, from, now, a.show(rec.Account, from, now, 1), s.cost(a)}
}

// usage answers for machines deleted in the last month, too.
func (c *call) usage() (any, error) {
	if m, err := c.find(); err == nil {
		rec, _ := m.snapshot()
		return c.usageOf(&rec), nil
	}
	c.mu.Lock()
	rec := c.past[c.params["id"]]
	c.mu.Unlock()
	if rec == nil || rec.Account != c.who.account || !c.now().Before(rec.DeletedAt.Add(keptBills)) {
		return nil, noMachine()
	}
	return c.usageOf(rec), nil
}

// records are those of the machines of an account, with those that are deleted.
func (s *Server) records(account string) []record {
	var list []record
	for _, m := range s.all() {
		if m.account == account {
			rec, _ := m.snapshot()
			list = append(list, rec)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range s.past {
		if rec.Account == account {
			list = append(list, *rec)
		}
	}
	return list
}

// total is what an account used between from and to, and by how many machines.
func (s *Server) total(account string, from, to time.Time) (a amount, machines int) {
	now := s.now()
	for _, rec := range s.records(account) {
		if rec.CreatedAt.After(to) || !rec.DeletedAt.IsZero() && rec.DeletedAt.Before(from) {
			continue
		}
		a.add(rec.Meter.used(from, to, now))
		machines++
	}
	return a, machines
}

// account is the bill of an account in the present period.
func (s *Server) bill(account string) (usageView, costView) {
	now := s.now()
	from := periodStart(now)
	a, n := s.total(account, from, now)
	cost := s.cost(a)
	cost.MonthlyFee, cost.FreeCredit = s.o.Plan.MonthlyFeeMicros, s.o.Plan.FreeCreditMicros
	cost.Total += cost.MonthlyFee
	cost.CreditApplied = min(cost.FreeCredit, cost.Total)
	cost.AmountDue = cost.Total - cost.CreditApplied
	return a.show(account, from, now, n), cost
}

// balance is how much prepaid credit an account has left.
func (s *Server) balance(account string) int64 {
	if s.o.Credit < 0 {
		return 0
	}
	_, cost := s.bill(account)
	return s.o.Credit - cost.AmountDue
}

type usageQuery struct {
	From *string `serde:"from"`
	To   *string `serde:"to"`
}

// accountUsage tells of the period, or of a time inside it; what was metered is the period's all the same.
func (c *call) accountUsage() (any, error) {
	var q usageQuery
	if err := c.query(&q); err != nil {
		return nil, err
	}
	now := c.now()
	from, to := periodStart(now), now
	for _, t := range []struct {
		name string
		text *string
		into *time.Time
	}{{"from", q.From, &from}, {"to", q.To, &to}} {
		if t.text == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, *t.text)
		if err != nil {
			return nil, badRequest("Failed to deserialize query string: %s: input contains invalid characters", t.name)
		}
		*t.into = at.UTC()
	}
	if to.Before(from) {
		return nil, badRequest("from must not be after to")
	}
	a, _ := c.total(c.who.account, periodStart(now), now)
	windowed, n := c.total(c.who.account, from, to)
	a.uptime = windowed.uptime
	u := a.show(c.who.account, from, to, n)
	u.ConsumedFrom, u.ConsumedTo = periodStart(now), now
	return u, nil
}

// accountView is what an account is told about itself.
type accountView struct {
	TenantID              string    `json:"tenantId"`
	Status                string    `json:"status"`
	Plan                  *Plan     `json:"plan"`
	EffectiveMaxCPUs      int       `json:"effectiveMaxCpus"`
	EffectiveMaxMemoryMB  int       `json:"effectiveMaxMemoryMb"`
	EffectiveMaxMachines  int       `json:"effectiveMaxMachines"`
	EffectiveMaxDiskGB    *int      `json:"effectiveMaxDiskGb"`
	PeriodUsage           usageView `json:"periodUsage"`
	PeriodCost            costView  `json:"periodCost"`
	MonthlyBudgetMicros   *int64    `json:"monthlyBudgetMicros"`
	BudgetRemainingMicros *int64    `json:"budgetRemainingMicros"`
	PrepaidCreditMicros   int64     `json:"prepaidCreditMicros"`
	LowBalanceThreshold   int64     `json:"lowBalanceThresholdMicros"`
	PendingPlanID         *string   `json:"pendingPlanId"`
}

func (c *call) account() (any, error) {
	usage, cost := c.bill(c.who.account)
	p := c.o.Plan
	a := &accountView{
		TenantID: c.who.account, Status: c.status(), Plan: p, EffectiveMaxCPUs: p.MaxCPUs, EffectiveMaxMemoryMB: p.MaxMemoryMB,
		EffectiveMaxMachines: p.MaxMachines, EffectiveMaxDiskGB: p.MaxDiskGB, PeriodUsage: usage, PeriodCost: cost,
		MonthlyBudgetMicros: p.MonthlyBudgetMicros, PrepaidCreditMicros: max(0, c.balance(c.who.account)), LowBalanceThreshold: 1e6,
	}
	if p.MonthlyBudgetMicros != nil {
		left := max(0, *p.MonthlyBudgetMicros-cost.AmountDue)
		a.BudgetRemainingMicros = &left
	}
	return a, nil
}

func (c *call) plans() (any, error) {
	return map[string]any{"current": c.o.Plan, "available": []*Plan{c.o.Plan}}, nil
}

// snapshots of the old kind are not made.
func (c *call) snapshots() (any, error) {
	return nil, fail(http.StatusNotImplemented, "snapshots are not available; use export or a checkpoint")
}
