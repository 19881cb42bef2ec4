package cloud

import "net/http"

// pricing is where refusals send people.
const pricing = "https://smolmachines.com/pricing"

// census counts the machines of an account, and those that run or are about to. s.mu is held.
func (s *Server) census(account string) (held, running int) {
	for _, m := range s.order {
		if m.account != account {
			continue
		}
		held++
		m.mu.Lock()
		if m.starting || m.vm != nil && m.rec.State == stateStarted && !m.rec.Frozen {
			running++
		}
		m.mu.Unlock()
	}
	return held + s.making[account], running
}

// quota refuses so many machines held, or running.
func (s *Server) quota(held, running int) error {
	p := s.o.Plan
	switch {
	case p.MaxMachines > 0 && held > p.MaxMachines:
		return unprocessable("machine count quota exceeded: the %s plan holds at most %d machines, stopped ones included; see %s", p.Name, p.MaxMachines, pricing)
	case p.MaxConcurrentMachines > 0 && running > p.MaxConcurrentMachines:
		return unprocessable("concurrency limit reached: the %s plan runs at most %d machines at once; see %s", p.Name, p.MaxConcurrentMachines, pricing)
	}
	return nil
}

// fits refuses a machine that is too large for the plan.
func (s *Server) fits(r *resources) error {
	p := s.o.Plan
	switch {
	case p.MaxCPUs > 0 && int(r.CPUs) > p.MaxCPUs:
		return unprocessable("cpus %d exceeds the %s plan's maximum of %d; see %s", r.CPUs, p.Name, p.MaxCPUs, pricing)
	case p.MaxMemoryMB > 0 && int(r.MemoryMB) > p.MaxMemoryMB:
		return unprocessable("memoryMb %d exceeds the %s plan's maximum of %d; see %s", r.MemoryMB, p.Name, p.MaxMemoryMB, pricing)
	case r.DiskGB != nil && p.MaxDiskGB != nil && *r.DiskGB > uint64(*p.MaxDiskGB):
		return unprocessable("diskGb %d exceeds the %s plan's maximum of %d; see %s", *r.DiskGB, p.Name, *p.MaxDiskGB, pricing)
	}
	return nil
}

// payable refuses what costs money to an account that has none left.
func (c *call) payable() error {
	if !c.solvent(c.who.account) {
		return fail(http.StatusPaymentRequired, "this organization has no credit yet")
	}
	return nil
}
