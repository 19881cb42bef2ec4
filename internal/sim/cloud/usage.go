package cloud

import (
	"math"
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
