package cloud

import (
	"slices"
	"time"
)

// capabilities are what /health announces.
func (s *Server) capabilities() []string {
	if s.o.Old.ForkOnly {
		return []string{}
	}
	return []string{
		"machine.branch", "machine.branch_batch", "machine.branch_source_continues", "machine.lineage", "machine.portable_checkpoint",
	}
}

func (c *call) health() (any, error) {
	return map[string]any{
		"clusterId": "stand-in", "version": "0.1.0", "apiVersion": 2, "capabilities": c.capabilities(), "nodesTotal": 1, "nodesReady": 1,
		"groupsTotal": 0, "poolsTotal": 0, "uptimeSecs": int64(c.clock.Now().Sub(c.began).Seconds()),
	}, nil
}

// ok is for probes.
func (c *call) ok() (any, error) { return map[string]string{"status": "ok"}, nil }

func (c *call) pricing() (any, error) {
	p := c.o.Plan
	return map[string]any{
		"currency": "usd", "baseHourMicros": p.RateBaseHourMicros, "cpuHourMicros": p.RateCPUHourMicros,
		"memoryGbHourMicros": p.RateMemoryGBHourMicros, "diskGbHourMicros": p.RateDiskGBHourMicros, "egressGbMicros": p.RateEgressGBMicros,
		"signupCreditMicros": 0, "freeCreditMicros": p.FreeCreditMicros, "volumeTiers": []map[string]any{{"upToMicros": nil, "discountBps": 0}},
	}, nil
}

func (c *call) machinesStatus() (any, error) {
	started := 0
	for _, m := range c.all() {
		m.mu.Lock()
		started += m.boots
		m.mu.Unlock()
	}
	return map[string]any{"machinesStarted": started, "since": c.began.UTC().Truncate(time.Millisecond), "updatedAt": c.now()}, nil
}

// status is that of the account.
func (c *call) status() string {
	if slices.Contains(c.o.Suspended, c.who.account) {
		return "suspended"
	}
	return "active"
}

func (c *call) me() (any, error) {
	return map[string]any{
		"subject": "key:" + c.who.account, "scopes": c.who.scopes, "tenantId": c.who.account, "tenantName": c.who.account,
		"tenantStatus": c.status(), "registryNamespace": "tenants/" + c.who.account,
	}, nil
}
