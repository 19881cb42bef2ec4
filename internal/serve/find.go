package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/smol-machines/smol-go/internal/private"
	"github.com/smol-machines/smol-go/smol"
)

// probeTime is how long one address is waited for.
const probeTime = 5 * time.Second

func (s *Supervisor) path(name string) string { return filepath.Join(s.c.Dir, name) }

// find returns a service that runs, or starts one. before is one that was lost.
func (s *Supervisor) find(ctx context.Context, before *Use) (*Use, error) {
	if s.c.URL != "" && s.c.URL != s.c.OwnURL {
		if u, err := s.adopt(ctx, s.c.URL); u != nil || err != nil {
			if lost := s.drop(before); lost != nil {
				s.c.Log.Warn("the serve that was lost is not stopped", "error", text(lost))
			}
			return u, err
		}
	}
	if err := private.MakeDir(s.c.Dir); err != nil {
		return nil, dirError(err)
	}
	lock, err := s.lock(ctx.Done())
	if gone := ended(ctx); gone != nil {
		lock.Release()
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	s.step("locked")
	before.leave()
	if u, err := s.own(ctx); u != nil || err != nil {
		return u, err
	}
	for _, url := range s.c.Adopt {
		if url == s.c.URL || url == s.c.OwnURL {
			continue
		}
		if u, err := s.adopt(ctx, url); u != nil || err != nil {
			return u, err
		}
	}
	return s.start(ctx)
}

// drop lets go of a service that was lost, when another is used instead.
func (s *Supervisor) drop(before *Use) error {
	if before == nil {
		return nil
	}
	return s.letGo(before)
}

// leave ends this program's part in the serve.
func (u *Use) leave() {
	if u == nil || u.users == nil || u.left {
		return
	}
	u.left = true
	u.watch()
	u.users.Release()
}

// lock takes serve.lock, which another program holds for as long as a start and a stop may take, until done is closed.
func (s *Supervisor) lock(done <-chan struct{}) (*private.Lock, error) {
	lock, err := private.Acquire(done, s.c.StartTimeout+2*s.c.StopTimeout, s.path("serve.lock"))
	if err != nil {
		return nil, unavailable(err, fmt.Sprintf("cannot lock %s: %v", s.path("serve.lock"), err), "see which program holds it, and that the file system has locks")
	}
	return lock, nil
}

// probe asks for the release at url, within a bound.
func (s *Supervisor) probe(ctx context.Context, url string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	version, err := s.c.Probe(limited, url)
	if gone := ended(ctx); gone != nil && err != nil {
		return "", gone
	}
	return version, err
}

// adopt uses a service that others look after, if one answers at url.
func (s *Supervisor) adopt(ctx context.Context, url string) (*Use, error) {
	version, err := s.probe(ctx, url)
	switch {
	case ended(ctx) != nil:
		return nil, ended(ctx)
	case errors.Is(err, ErrForeign):
		s.c.Log.Warn("passed over: another user listens there", "url", url, "error", text(err))
		return nil, nil
	case err != nil:
		if !Absent(err) {
			s.c.Log.Warn("passed over: no service answers there", "url", url, "error", text(err))
		}
		return nil, nil
	}
	if err := s.gate(version, "the service at "+url); err != nil {
		return nil, err
	}
	return &Use{URL: url, Version: version}, nil
}

// Absent reports whether err says that nobody listens at an address.
func Absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || Refused(err) }

// text is the message of err without what wraps it.
func text(err error) string {
	var e *smol.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// Check reports why no service can be had, without starting one, changing anything, or waiting for one: nil if one answers or could be started.
func (s *Supervisor) Check(ctx context.Context) error {
	if s.Current() != nil {
		return nil
	}
	urls := append([]string{s.c.URL, s.recordedURL()}, s.c.Adopt...)
	for _, url := range urls {
		if url == "" {
			continue
		}
		version, err := s.probe(ctx, url)
		if gone := ended(ctx); gone != nil {
			return gone
		}
		if err == nil {
			return s.gate(version, "the service at "+url)
		}
	}
	if err := private.CheckDir(s.c.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dirError(err)
	}
	_, err := s.program(ctx)
	return err
}

// recordedURL is where the serve of the runtime directory listens, or "".
func (s *Supervisor) recordedURL() string {
	if s.c.OwnURL != "" {
		return s.c.OwnURL
	}
	if r, err := readRecord(s.path("serve.pid")); err == nil && r != nil {
		return r.URL
	}
	return ""
}
