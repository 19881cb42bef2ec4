package cloud

import "time"

// Sweep does what the service does at each interval: it meters what runs, stops machines that nobody uses, and deletes those whose time is
// over. It does one after the other and returns when all is done.
func (s *Server) Sweep() {
	for _, m := range s.all() {
		if s.tasks.Context().Err() != nil {
			return
		}
		select {
		case m.life <- struct{}{}:
			if err := m.sweep(); err != nil {
				s.o.Log.Warn("sweep", "machine", m.id, "err", err)
			}
			m.life.unlock()
		default: // somebody is at work on it
		}
	}
	s.forgetBills()
}

// sweep looks after one machine, whose lock is held.
func (m *machine) sweep() error {
	s, now := m.s, m.s.now()
	rec, v := m.snapshot()
	m.mu.Lock()
	gone, busy := m.gone, m.active > 0
	m.mu.Unlock()
	switch {
	case gone:
		return nil
	case rec.TTL > 0 && !now.Before(rec.CreatedAt.Add(time.Duration(rec.TTL)*time.Second)):
		return m.remove("deleted because its time to live is over")
	case rec.Ephemeral && rec.State == stateStopped && (rec.Used || s.o.ReapEphemeral):
		return m.remove("deleted because it is ephemeral and stopped")
	case v == nil || rec.State != stateStarted || rec.Frozen:
		return nil
	}
	m.probe()
	if limit := m.idleLimit(&rec); limit > 0 && !busy && !now.Before(rec.ActiveAt.Add(limit)) {
		if err := m.halt("stopped because it was idle"); err != nil {
			return err
		}
		return m.reap("deleted because it stopped")
	}
	if now.Sub(rec.Meter.Sampled) >= s.o.Sample {
		return m.update(func(r *record) { r.Meter.Sampled, r.UpdatedAt = now, rec.UpdatedAt })
	}
	return nil
}

// idleLimit is how long a machine may be idle; zero is for ever.
func (m *machine) idleLimit(rec *record) time.Duration {
	o := &m.s.o
	switch {
	case rec.HasAutoStop:
		return time.Duration(rec.AutoStop) * time.Second
	case len(rec.Ports) > 0 && !o.Plan.AllowAlwaysOn && o.IdleStop > 0:
		return o.IdleStop
	}
	return 0
}

// forgetBills drops the records of machines that were deleted long ago.
func (s *Server) forgetBills() {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, rec := range s.past {
		if !now.Before(rec.DeletedAt.Add(keptBills)) && periodStart(rec.DeletedAt) != periodStart(now) {
			delete(s.past, id)
			if err := s.store.Remove(id); err != nil {
				s.o.Log.Warn("record not removed", "machine", id, "err", err)
			}
		}
	}
}
