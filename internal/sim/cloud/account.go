package cloud

import (
	"net/http"
	"time"
)

// total is what an account used between from and to, and by how many machines.
func (s *Server) total(account string, from, to time.Time) (a amount, machines int) {
	now := s.now()
	count := func(rec *record) {
		if !rec.CreatedAt.After(to) && (rec.DeletedAt.IsZero() || !rec.DeletedAt.Before(from)) {
			a.add(rec.Meter.used(from, to, now))
			machines++
		}
	}
	for _, m := range s.all() {
		if m.account == account {
			m.mu.Lock()
			count(&m.rec)
			m.mu.Unlock()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range s.past {
		if rec.Account == account {
			count(rec)
		}
	}
	return a, machines
}

// bill is that of an account in the present period.
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

// credit is what an account was found to have, and when.
type credit struct {
	at      time.Time
	samples int64
	micros  int64
}

// solvent reports whether an account has credit left. It looks again after a second or when something was metered: with very many machines a
// bill takes its time.
func (s *Server) solvent(account string) bool {
	now, samples := s.now(), s.samples.Load()
	s.mu.Lock()
	c, ok := s.credits[account]
	s.mu.Unlock()
	if age := now.Sub(c.at); !ok || age < 0 || age >= time.Second || c.samples != samples {
		c = credit{now, samples, s.balance(account)}
		s.mu.Lock()
		s.credits[account] = c
		s.mu.Unlock()
	}
	return c.micros > 0
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
