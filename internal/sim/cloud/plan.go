package cloud

import "time"

// Plan is what an account may use and what that costs. Money is in micros, millionths of a dollar. A ceiling of zero is none.
type Plan struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// MaxGroups is told and has no effect: there are no groups here.
	MaxGroups int `json:"maxGroups"`
	// MaxCPUs, MaxMemoryMB and MaxDiskGB are for one machine.
	MaxCPUs     int  `json:"maxCpus"`
	MaxMemoryMB int  `json:"maxMemoryMb"`
	MaxDiskGB   *int `json:"maxDiskGb"`
	// MaxMachines counts machines in every state, MaxConcurrentMachines those that run or are about to.
	MaxMachines           int `json:"maxMachines"`
	MaxConcurrentMachines int `json:"maxConcurrentMachines"`
	// MaxEgressGB, MonthlyBudgetMicros and BudgetPolicy are told and have no effect.
	MaxEgressGB         *int   `json:"maxEgressGb"`
	MonthlyBudgetMicros *int64 `json:"monthlyBudgetMicros"`
	BudgetPolicy        string `json:"budgetPolicy"`
	// MonthlyFeeMicros is part of the account's cost, FreeCreditMicros is taken off it.
	MonthlyFeeMicros int64 `json:"monthlyFeeMicros"`
	FreeCreditMicros int64 `json:"freeCreditMicros"`
	// The rates: for an hour of a machine that runs, of one of its CPUs, of 1024 MiB of its memory, of a GB of its disk, which also costs
	// while it is stopped, and for a GB sent out.
	RateBaseHourMicros     int64 `json:"rateBaseHourMicros"`
	RateCPUHourMicros      int64 `json:"rateCpuHourMicros"`
	RateMemoryGBHourMicros int64 `json:"rateMemoryGbHourMicros"`
	RateDiskGBHourMicros   int64 `json:"rateDiskGbHourMicros"`
	RateEgressGBMicros     int64 `json:"rateEgressGbMicros"`
	// RateExecMicros is always 0.
	RateExecMicros int64 `json:"rateExecMicros"`
	// AllowAlwaysOn: a machine with a published port is not stopped for being idle unless it asks for that.
	AllowAlwaysOn bool      `json:"allowAlwaysOn"`
	SelfServe     bool      `json:"selfServe"`
	IsDefault     bool      `json:"isDefault"`
	CreatedAt     time.Time `json:"createdAt"`
	// CacheDisks: the plan has them.
	CacheDisks bool `json:"-"`
}

// DefaultPlan is what accounts have unless [Options.Plan] says otherwise: ceilings that a test meets only if it wants to, and rates that are
// easy to reckon with.
func DefaultPlan() Plan {
	disk := 1000
	return Plan{
		ID: "plan-developer", Name: "Developer", MaxGroups: 10, MaxCPUs: 16, MaxMemoryMB: 65536, MaxDiskGB: &disk,
		MaxMachines: 20000, MaxConcurrentMachines: 1000, BudgetPolicy: "none",
		RateBaseHourMicros: 3600, RateCPUHourMicros: 36000, RateMemoryGBHourMicros: 7200, RateDiskGBHourMicros: 360, RateEgressGBMicros: 50000,
		SelfServe: true, IsDefault: true, CreatedAt: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), CacheDisks: true,
	}
}
