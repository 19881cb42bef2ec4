package cloud

import (
	"context"
	"errors"
	"time"

	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// Usage is what a machine, or an account, has used.
type Usage struct {
	// From and To are the period of Uptime and Machines.
	From, To time.Time
	// Uptime is how long machines were up.
	Uptime time.Duration
	// Machines counts the machines that there were in the period, those that are gone too.
	Machines int
	// MeteredFrom and MeteredTo are the period of the figures below; zero if the service does not tell.
	MeteredFrom, MeteredTo time.Time
	// CPUHours is processor time, MemoryGBHours and DiskGBHours are gigabytes times hours, and EgressGB is what was sent out.
	CPUHours, MemoryGBHours, DiskGBHours, EgressGB float64
}

// Micros is money in millionths of a US dollar.
type Micros int64

// Cost is what was used in money.
type Cost struct {
	// Due is what is to be paid, after credit and discounts. Budgets are held against it. A service that does not tell it leaves Total.
	Due Micros
	// Total is all of it before credit.
	Total Micros
	// Base is for machines being up, CPU, Memory, Disk and Egress for what they used, and MonthlyFee for the plan.
	Base, CPU, Memory, Disk, Egress, MonthlyFee Micros
	// CreditApplied and VolumeDiscount were taken off.
	CreditApplied, VolumeDiscount Micros
}

// MachineUsage is what one machine has used and what that costs.
type MachineUsage struct {
	Usage
	// Cost is what it costs.
	Cost Cost
}

// Usage asks what the machine has used in this billing period. Of a machine that runs it is a lower bound: processor and memory are measured every few
// minutes. A stop settles it. A machine that was deleted can be asked about for 30 days, by its id. It matches [smol.ErrNotFound] when there is none.
func (m *Machine) Usage(ctx context.Context) (*MachineUsage, error) {
	op := operations[opUsage].name
	id, err := m.resolve(ctx, op)
	if err != nil {
		return nil, err
	}
	var u cloudwire.MachineUsage
	if err := m.backend.ask(ctx, opUsage, id, &u); err != nil {
		return nil, describe(op, m.Name(), err)
	}
	return machineUsageOf(&u), nil
}

// DeleteWithUsage removes the machine as [smol.Machine.Delete] does and returns its settled bill. An error can mean that the machine is
// deleted and the bill is not known; its text then says so, and [Machine.Usage] can be asked.
func (m *Machine) DeleteWithUsage(ctx context.Context, opts *smol.DeleteOptions) (*MachineUsage, error) {
	op := operations[opDelete].name
	id, err := m.resolve(ctx, op)
	if err != nil {
		return nil, err
	}
	u, err := m.backend.deleteWithUsage(ctx, id, opts)
	return u, describe(op, m.Name(), err)
}

func (b *Backend) deleteWithUsage(ctx context.Context, id string, opts *smol.DeleteOptions) (*MachineUsage, error) {
	c, err := newCall(opDelete, id)
	if err != nil {
		return nil, err
	}
	if opts != nil && opts.Cascade {
		if err := b.deleteBranches(ctx, id); err != nil {
			return nil, err
		}
	}
	c.Query = "includeUsage=true"
	var u *cloudwire.MachineUsage
	if err := b.remove(ctx, c, &u); err != nil {
		return nil, err
	}
	if u != nil {
		return machineUsageOf(u), nil
	}
	// The service does not know the query, or the answer was lost.
	u = new(cloudwire.MachineUsage)
	if err := b.ask(ctx, opUsage, id, u); err != nil {
		var e *smol.Error
		if errors.As(err, &e) {
			e.Message = "the machine is deleted, and what it used is not known: " + e.Message
		}
		return nil, err
	}
	return machineUsageOf(u), nil
}

func machineUsageOf(u *cloudwire.MachineUsage) *MachineUsage {
	out := &MachineUsage{Usage: usageOf(&u.Usage), Cost: costOf(&u.Cost)}
	if out.From.IsZero() && out.To.IsZero() {
		out.From, out.To = u.From.Time, u.To.Time
	}
	return out
}

func usageOf(u *cloudwire.Usage) Usage {
	return Usage{
		From: u.From.Time, To: u.To.Time, Uptime: seconds(u.TotalUptimeSeconds), Machines: u.MachineCount,
		MeteredFrom: u.ConsumedFrom.Time, MeteredTo: u.ConsumedTo.Time,
		CPUHours: u.CPUHours, MemoryGBHours: u.MemoryGbHours, DiskGBHours: u.DiskGbHours, EgressGB: u.EgressGb,
	}
}

func costOf(c *cloudwire.CostBreakdown) Cost {
	out := Cost{
		Due: Micros(c.TotalMicros), Total: Micros(c.TotalMicros), Base: Micros(c.BaseMicros), CPU: Micros(c.CPUMicros),
		Memory: Micros(c.MemoryMicros), Disk: Micros(c.DiskMicros), Egress: Micros(c.EgressMicros), MonthlyFee: Micros(c.MonthlyFeeMicros),
		CreditApplied: Micros(c.CreditAppliedMicros), VolumeDiscount: Micros(c.VolumeDiscountMicros),
	}
	if c.AmountDueMicros != nil {
		out.Due = Micros(*c.AmountDueMicros)
	}
	return out
}
