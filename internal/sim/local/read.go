package local

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func (c *call) get() (any, error) {
	m, err := c.find(c.params["name"])
	if err != nil {
		return nil, err
	}
	return m.info(c.ctx), nil
}

func (c *call) list() (any, error) {
	all := c.all()
	infos := make([]machineInfo, len(all))
	var probes sync.WaitGroup
	for i, m := range all {
		probes.Go(func() { infos[i] = m.info(c.ctx) })
	}
	probes.Wait()
	slices.SortFunc(infos, func(a, b machineInfo) int { return strings.Compare(a.Name, b.Name) })
	return struct {
		Machines []machineInfo `json:"machines"`
	}{infos}, nil
}

// census counts the machines, and those that run.
func (s *Server) census() (total, running int) {
	for _, m := range s.all() {
		total++
		if rec, v := m.snapshot(); v != nil && rec.State == stateRunning {
			running++
		}
	}
	return total, running
}

func (c *call) health() (any, error) {
	type counts struct {
		Total   int `json:"total"`
		Running int `json:"running"`
	}
	total, running := c.census()
	return struct {
		Status   string `json:"status"`
		Version  string `json:"version"`
		Machines counts `json:"machines"`
		Uptime   int64  `json:"uptime_seconds"`
	}{"ok", c.o.Version, counts{total, running}, int64(time.Since(c.started).Seconds())}, nil
}

func (c *call) readyz() (any, error) {
	c.w.WriteHeader(http.StatusOK)
	return nil, nil
}

// stalled is how old the supervisor's last tick may be.
const stalled = 20 * time.Second

func (c *call) capacity() (any, error) {
	if beat := c.beat.Load(); c.o.Supervisor > 0 && time.Since(time.Unix(0, beat)) > stalled+c.o.Supervisor {
		return nil, &rejection{http.StatusServiceUnavailable, "main runtime stalled; node unschedulable"}
	}
	var cpus, memory uint64
	for _, m := range c.all() {
		if rec, v := m.snapshot(); v != nil {
			cpus += uint64(rec.CPUs)
			memory += uint64(rec.MemoryMB)
		}
	}
	return struct {
		CPUs       uint64  `json:"allocated_cpus"`
		Memory     uint64  `json:"allocated_memory_mb"`
		UsedCPUs   float64 `json:"used_cpus"`
		UsedMemory uint64  `json:"used_memory_mb"`
		UsedDisk   uint64  `json:"used_disk_gb"`
		BootID     string  `json:"boot_id"`
	}{CPUs: cpus, Memory: memory, BootID: fmt.Sprintf("%d-%d", os.Getpid(), c.started.UnixNano())}, nil
}

func (c *call) metrics() (any, error) {
	var b strings.Builder
	counts := map[string]int{}
	for _, q := range c.requests.All() {
		if q.Status > 0 {
			counts[fmt.Sprintf("smolvm_api_requests_total{method=%q,status=\"%d\",path=%q}", q.Method, q.Status, q.Path)]++
		}
	}
	var lines []string
	for k, n := range counts {
		lines = append(lines, fmt.Sprintf("%s %d\n", k, n))
	}
	slices.Sort(lines)
	b.WriteString("# TYPE smolvm_api_requests_total counter\n" + strings.Join(lines, ""))
	total, running := c.census()
	fmt.Fprintf(&b, "# TYPE smolvm_machines_total gauge\nsmolvm_machines_total %d\n", total)
	fmt.Fprintf(&b, "# TYPE smolvm_machines_running gauge\nsmolvm_machines_running %d\n", running)
	return reply{"text/plain; version=0.0.4", []byte(b.String())}, nil
}

// drain stops every machine that runs.
func (c *call) drain() (any, error) {
	for _, m := range c.all() {
		if err := m.life.lock(c.ctx); err != nil {
			return nil, err
		}
		if _, v := m.snapshot(); v != nil {
			if err := m.down(); err == nil {
				_ = m.update(func(r *record) { r.State, r.PID, r.Frozen = stateStopped, 0, false })
			}
		}
		m.life.unlock()
	}
	c.w.WriteHeader(http.StatusOK)
	return nil, nil
}
