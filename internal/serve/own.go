package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/smol-machines/smol-go/internal/private"
)

// own uses the serve of the runtime directory if there is one. The caller holds serve.lock, so a start or a stop that is on record here was
// not brought to its end by who began it.
func (s *Supervisor) own(ctx context.Context) (*Use, error) {
	r, bad := readRecord(s.path("serve.pid"))
	if r != nil && (!r.Process.Alive() || s.c.OwnURL != "" && r.URL != s.c.OwnURL) {
		r = nil // it ended by itself, and a start writes a new record
	}
	url := s.c.OwnURL
	if r != nil {
		url = r.URL
	}
	if url == "" {
		return nil, bad
	}
	if r != nil && r.State == stateStopping {
		return nil, s.end(r)
	}
	version, err := s.probe(ctx, url)
	switch {
	case ended(ctx) != nil:
		return nil, ended(ctx)
	case err == nil && r != nil:
		return s.share(r, version)
	case err == nil:
		s.c.Log.Info("a service that is not on record is used, and left running", "url", url)
		return &Use{URL: url, Version: version}, s.gate(version, "the service at "+url)
	case starved(err):
		return nil, cannotAsk(url, err)
	case bad != nil:
		return nil, bad
	case r != nil:
		return s.await(ctx, r)
	case Absent(err):
		return nil, nil
	}
	return nil, unavailable(err, fmt.Sprintf("%s is taken, and no service answers there: %s", url, text(err)), "end what listens there, or, if it is smolvm, "+where)
}

// share uses a serve that another program has started, or has left behind.
func (s *Supervisor) share(r *record, version string) (*Use, error) {
	users, err := private.TryLock(s.path("serve.users"), false)
	if err != nil || users == nil {
		return nil, unavailable(err, "cannot lock "+s.path("serve.users"), "")
	}
	s.step("adopt-users")
	u := s.used(r, version, users, nil)
	if err := s.gate(version, "the service at "+r.URL); err != nil {
		return nil, errors.Join(err, s.leaveLocked(u))
	}
	if !r.Owner.Alive() || r.State != stateRunning {
		s.c.Log.Info("a serve whose owner died is taken over", "pid", r.PID, "owner", r.Owner.PID)
		r.Owner, r.State = self(), stateRunning
		if err := r.write(s.path("serve.pid")); err != nil {
			return nil, errors.Join(err, s.leaveLocked(u))
		}
	}
	s.step("adopt-recorded")
	return u, nil
}

// used is a serve of this directory in use.
func (s *Supervisor) used(r *record, version string, users *private.Lock, child <-chan exited) *Use {
	return &Use{URL: r.URL, Version: version, Process: r.Process, users: users, child: child, watch: s.watchLog()}
}

// await waits for a serve that is on record and does not answer: it may be on its way up, begun by a program that died. One that does not come
// is ended, unless another program uses it.
func (s *Supervisor) await(ctx context.Context, r *record) (*Use, error) {
	limit := s.c.Silence
	if r.State == stateStarting {
		limit = s.c.StartTimeout
	}
	version, err := s.answer(ctx, r.URL, limit, r.Process.Alive)
	switch {
	case err == nil:
		return s.share(r, version)
	case ended(ctx) != nil:
		return nil, ended(ctx)
	case errors.Is(err, errDied):
		return nil, nil
	case starved(err):
		return nil, cannotAsk(r.URL, err)
	}
	alone, lockErr := private.TryLock(s.path("serve.users"), true)
	if alone == nil {
		return nil, unavailable(errors.Join(err, lockErr), fmt.Sprintf("the serve with pid %d, which another program uses, does not answer", r.PID),
			"see "+s.path("serve.log")+"; end it, machines run on")
	}
	defer alone.Release()
	if err := s.end(r); err != nil || r.State != stateStarting {
		return nil, err
	}
	return nil, unavailable(err, fmt.Sprintf("the serve that another program had begun to start did not answer within %v", limit), "see "+s.path("serve.log"))
}

// starved reports whether it is this program that lacks the means to ask; then nothing is known about the serve.
func starved(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

func cannotAsk(url string, err error) error {
	return unavailable(err, fmt.Sprintf("the service at %s cannot be asked: %s", url, text(err)), "close files, or raise the limit of open ones")
}

// end stops the serve that is on record, which nobody uses, and removes what it leaves.
func (s *Supervisor) end(r *record) error {
	if r.State != stateStopping {
		r.State = stateStopping
		if err := r.write(s.path("serve.pid")); err != nil {
			return err
		}
	}
	s.step("stop-marked")
	if err := r.Process.end(s.c.StopTimeout, s.step); err != nil {
		return unavailable(err, fmt.Sprintf("the serve with pid %d does not end: %v", r.PID, err), "end it, machines run on")
	}
	s.step("stop-ended")
	return s.sweep()
}

// sweep removes what a serve that ended has left: its socket, and last the record.
func (s *Supervisor) sweep() error {
	if err := removeSocket(s.c.OwnURL); err != nil {
		return err
	}
	s.step("stop-swept")
	if err := os.Remove(s.path("serve.pid")); err != nil && !os.IsNotExist(err) {
		return unavailable(err, "cannot remove "+s.path("serve.pid")+": "+err.Error(), "remove it")
	}
	return nil
}
