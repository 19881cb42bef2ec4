package cloud

import (
	"context"
	"time"
)

// probe notes when the machine has become ready: some time after its boot, and when something listens on every published port.
func (m *machine) probe() {
	rec, v := m.snapshot()
	delay := m.s.o.ReadyDelay
	if v == nil || rec.State != stateStarted || rec.Frozen || !rec.ReadyAt.IsZero() || delay < 0 || m.s.now().Before(rec.StartedAt.Add(delay)) {
		return
	}
	for _, p := range rec.Ports {
		if !m.listens(v, int(p.Port)) {
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.vm == v && m.rec.ReadyAt.IsZero() {
		m.rec.ReadyAt = m.s.now()
	}
}

// listens reports whether somebody answers on a port of the machine.
func (m *machine) listens(v *vm, port int) bool {
	m.mu.Lock()
	answer, told := m.pretend[port]
	m.mu.Unlock()
	if told {
		return answer
	}
	ctx, cancel := context.WithTimeout(m.s.tasks.Context(), time.Second)
	defer cancel()
	conn, err := v.inst.Dial(ctx, port)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
