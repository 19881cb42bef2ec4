package cloud

// watch takes note when the machine ends by itself.
func (m *machine) watch(v *vm) {
	ctx := m.s.tasks.Context()
	m.s.tasks.Go(func() {
		select {
		case <-v.inst.Done():
		case <-ctx.Done():
		}
		if ctx.Err() == nil {
			m.ended(v)
		}
	})
}

// ended notes that the machine is gone, unless that was meant.
func (m *machine) ended(v *vm) {
	m.mu.Lock()
	mine := m.vm == v
	if mine {
		m.vm = nil
		if err := m.updateLocked(func(r *record) {
			r.stopped(m.s)
			r.note(m.s, "warn", "machine ended unexpectedly")
		}); err != nil {
			m.s.o.Log.Warn("machine ended", "machine", m.id, "err", err)
		}
	}
	ephemeral := m.rec.Ephemeral
	m.mu.Unlock()
	if !mine || !ephemeral || m.hold(m.s.tasks.Context()) != nil {
		return
	}
	defer m.life.unlock()
	if err := m.remove("deleted because it ended"); err != nil {
		m.s.o.Log.Warn("machine not deleted", "machine", m.id, "err", err)
	}
}
