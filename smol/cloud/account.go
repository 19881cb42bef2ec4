package cloud

import (
	"context"
	"time"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// Account is an account as it stands.
type Account struct {
	// ID is the account's id, Status "active", "waitlisted" or "suspended".
	ID, Status string
	// Plan is the name of its plan; empty if it has none.
	Plan string
	// MaxMachines is how many machines it may have, stopped ones too, and MaxRunning how many may run at once; zero: not told.
	MaxMachines, MaxRunning int
	// MaxMachine is the largest machine it may have; zero fields were not told.
	MaxMachine smol.Resources
	// Usage is what was used in this billing period, Cost what that costs.
	Usage Usage
	Cost  Cost
	// Prepaid is credit that was paid in advance.
	Prepaid Micros
	// Budget is what a month may cost and BudgetLeft what is left of it. Nil: there is no budget.
	Budget, BudgetLeft *Micros
}

// Account asks what the account is and what it owes.
func (b *Backend) Account(ctx context.Context) (*Account, error) {
	var a cloudwire.Account
	if err := b.ask(ctx, opAccount, "", &a); err != nil {
		return nil, err
	}
	out := &Account{
		ID: a.TenantID, Status: a.Status, MaxMachines: a.EffectiveMaxMachines, Prepaid: Micros(a.PrepaidCreditMicros),
		MaxMachine: smol.Resources{CPUs: a.EffectiveMaxCPUs, MemoryMiB: int(a.EffectiveMaxMemoryMb), DiskGiB: int(a.EffectiveMaxDiskGb)},
		Budget:     micros(a.MonthlyBudgetMicros), BudgetLeft: micros(a.BudgetRemainingMicros),
	}
	if a.Plan != nil {
		out.Plan, out.MaxRunning = a.Plan.Name, a.Plan.MaxConcurrentMachines
	}
	if a.PeriodUsage != nil {
		out.Usage = usageOf(a.PeriodUsage)
	}
	if a.PeriodCost != nil {
		out.Cost = costOf(a.PeriodCost)
	}
	return out, nil
}

func micros(n *int64) *Micros {
	if n == nil {
		return nil
	}
	return new(Micros(*n))
}

// Health is what the service says about itself.
type Health struct {
	// Version is its release, APIVersion the version of its interface; "" and 0: not told.
	Version    string
	APIVersion int
	// Capabilities are what it says it can do, such as "machine.branch". That is no proof that it works.
	Capabilities []string
	// Uptime is how long it has been up, in whole seconds.
	Uptime time.Duration
}

// Health asks the service how it is.
func (b *Backend) Health(ctx context.Context) (*Health, error) {
	var h cloudwire.Health
	if err := b.ask(ctx, opHealth, "", &h); err != nil {
		return nil, err
	}
	out := &Health{Version: h.Version, APIVersion: h.APIVersion, Uptime: seconds(h.UptimeSecs)}
	for _, c := range h.Capabilities {
		out.Capabilities = append(out.Capabilities, string(c))
	}
	return out, nil
}
