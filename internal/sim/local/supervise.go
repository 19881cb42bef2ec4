package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The console logs above rotateAt are rotated, and keptLogs old ones kept.
const (
	rotateAt = 10 << 20
	keptLogs = 3
)

// supervise ticks until the server closes.
func (s *Server) supervise() {
	s.beat.Store(time.Now().UnixNano())
	if s.o.Supervisor < 0 {
		return
	}
	s.tasks.Go(func() {
		ticker := time.NewTicker(s.o.Supervisor)
		defer ticker.Stop()
		for {
			s.Tick()
			select {
			case <-ticker.C:
			case <-s.tasks.Context().Done():
				return
			}
		}
	})
}

// Tick does what the supervisor does at each interval: it notes which machines have ended and applies their restart policies. Tests that
// have turned the supervisor off call it themselves.
func (s *Server) Tick() {
	s.beat.Store(time.Now().UnixNano())
	for _, m := range s.all() {
		if s.tasks.Context().Err() != nil {
			return
		}
		select {
		case m.life <- struct{}{}:
			if err := rotate(s.store.Console(m.name)); err != nil {
				s.o.Log.Warn("console log not rotated", "machine", m.name, "err", err)
			}
			m.tick()
			m.life.unlock()
		default: // somebody is at work on it
		}
	}
}

// tick looks after one machine, whose lock is held.
func (m *machine) tick() {
	rec, v := m.snapshot()
	m.mu.Lock()
	idle := m.gone || !m.registered || m.booting != nil
	m.mu.Unlock()
	if v != nil || idle || rec.State == statePaused {
		return
	}
	if m.wantsRestart(&rec) {
		m.restart(&rec)
		return
	}
	if rec.State != stateStopped {
		_ = m.down()
		_ = m.update(func(r *record) { r.State, r.PID, r.Frozen = stateStopped, 0, false })
	}
}

// wantsRestart reports whether the policy asks for a restart. The exit code of a machine is never known, which counts as a failure.
func (m *machine) wantsRestart(rec *record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case rec.Restart == "", rec.MaxRetries > 0 && m.restarts >= int(rec.MaxRetries):
		return false
	case rec.Restart == "unless-stopped" || rec.Restart == "on-failure" || rec.Restart == "always":
		return !m.userStopped
	}
	return false
}

// restart boots a machine once its back-off has passed. A container's workload is not launched on this way.
func (m *machine) restart(rec *record) {
	m.mu.Lock()
	wait := m.s.o.RestartUnit << min(m.restarts, 8)
	now := time.Now()
	if m.retryAt.IsZero() && wait > m.s.o.RestartUnit {
		m.retryAt = now.Add(min(wait, 300*m.s.o.RestartUnit))
	}
	due := !now.Before(m.retryAt)
	if due {
		m.restarts++
		m.retryAt = time.Time{}
	}
	m.mu.Unlock()
	if !due {
		return
	}
	v, err := m.boot(rec, rec.resolved())
	if err != nil {
		m.s.o.Log.Warn("restart failed", "machine", m.name, "err", err)
		_ = m.update(func(r *record) { r.State, r.PID, r.Frozen = stateFailed, 0, false })
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.updateLocked(func(r *record) { r.State, r.PID, r.Frozen = stateRunning, v.inst.PID(), false }); err != nil {
		_ = v.kill()
		return
	}
	m.vm = v
}

// rotate copies a log that has grown too large and truncates it, so that its writer and its followers go on.
func rotate(file string) error {
	fi, err := os.Stat(file)
	if err != nil || fi.Size() <= rotateAt {
		return nil
	}
	for n := keptLogs - 1; n > 0; n-- {
		_ = os.Rename(fmt.Sprintf("%s.%d", file, n), fmt.Sprintf("%s.%d", file, n+1))
	}
	src, err := os.Open(file)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(file+".1", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close(), os.Truncate(file, 0))
}
