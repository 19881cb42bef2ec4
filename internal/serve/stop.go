package serve

import (
	"fmt"
	"time"

	"github.com/smol-machines/smol-go/internal/private"
)

// letGo ends this program's part in a service; if it is the last one that used a serve of the runtime directory, it stops it.
func (s *Supervisor) letGo(u *Use) error {
	if u.users == nil {
		return nil
	}
	lock, err := s.lock(nil)
	if err != nil {
		u.leave() // whoever holds the lock finds the serve, and is the last to let go of it
		return err
	}
	defer lock.Release()
	s.step("stop-locked")
	return s.leaveLocked(u)
}

// leaveLocked is letGo under serve.lock.
func (s *Supervisor) leaveLocked(u *Use) error {
	u.leave()
	s.step("stop-left")
	alone, err := private.TryLock(s.path("serve.users"), true)
	if err != nil {
		return unavailable(err, "cannot lock "+s.path("serve.users"), "")
	}
	if alone == nil {
		return nil // others use it, and the last of them stops it
	}
	defer alone.Release()
	s.step("stop-alone")
	r, err := readRecord(s.path("serve.pid"))
	if err != nil {
		return err
	}
	if r == nil || r.Process != u.Process {
		return nil // it ended, and another one may have been started since
	}
	s.c.Log.Info("the serve is stopped", "pid", r.PID)
	return s.end(r)
}

// end asks the process to end, and kills it when it does not within grace.
func (p Process) end(grace time.Duration, step func(string)) error {
	h, err := openProcess(p)
	if err != nil || h == nil {
		return err
	}
	defer func() { _ = h.Release() }()
	if err := askToEnd(h); err != nil && p.Alive() {
		return err
	}
	step("stop-signaled")
	if p.gone(grace) {
		return nil
	}
	if err := h.Kill(); err != nil && p.Alive() {
		return err
	}
	if !p.gone(grace) {
		return fmt.Errorf("process %d was killed and is still there", p.PID)
	}
	return nil
}

// gone waits until the process has ended, within limit, and reports whether it has.
func (p Process) gone(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for wait := time.Millisecond; p.Alive(); wait = min(2*wait, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(wait)
	}
	return true
}
