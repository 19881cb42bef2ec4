package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/smol-machines/smol-go/internal/private"
)

// Session is one that this program holds: others leave its machines alone.
type Session struct {
	lock *private.Lock
	path string
}

func (l *Ledger) sessionPath(id string) string { return filepath.Join(l.path("sessions"), id+".lock") }

// Begin takes up a session of that id, 8 lower-case hexadecimal digits, which must be new.
func (l *Ledger) Begin(ctx context.Context, id string) (*Session, error) {
	if !isID(id, sessionDigits) {
		return nil, fmt.Errorf("ledger: %.40q is no id of a session", id)
	}
	// Under the lock, so that nobody takes the file for one that was left behind before it is locked.
	held, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	path := l.sessionPath(id)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, unwritten(filepath.Dir(path), err)
	}
	lock, err := private.TryLock(path, true)
	if err != nil {
		return nil, unwritten(path, err)
	}
	if lock == nil {
		return nil, fmt.Errorf("ledger: session %s is taken: %w", id, private.ErrLocked)
	}
	return &Session{lock, path}, nil
}

// Take takes up a session whose holder is gone, to do what that left undone. It returns nil if the holder lives, and also if id cannot be one
// of this package.
func (l *Ledger) Take(ctx context.Context, id string) (*Session, error) {
	if !isID(id, sessionDigits) {
		return nil, nil
	}
	held, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	path := l.sessionPath(id)
	lock, err := private.TryExisting(path, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Session{nil, path}, nil // it ended in an orderly way
	case err != nil:
		return nil, &Error{fmt.Sprintf("cannot lock %s: %v", path, err), "see that the file system has locks", err}
	case lock == nil:
		return nil, nil
	}
	return &Session{lock, path}, nil
}

// End ends the session: what is on record for it may be taken up by others. Of nil it does nothing.
func (s *Session) End() {
	if s == nil {
		return
	}
	s.lock.Release()
	// Whoever has just taken it up has the file open, and finds in the record what there is to do.
	_ = os.Remove(s.path)
}

// Tidy removes the files of sessions whose holders are gone and that have nothing on record.
func (l *Ledger) Tidy(ctx context.Context) error {
	if ok, err := l.there(); !ok {
		return err
	}
	files, err := os.ReadDir(l.path("sessions"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return nil
	}
	if err != nil {
		return &Error{fmt.Sprintf("cannot list %s: %v", l.path("sessions"), err), "see whose it is", err}
	}
	all, err := l.Entries()
	if err != nil {
		return err
	}
	busy := map[string]bool{}
	for _, e := range all {
		busy[e.Session] = true
	}
	for _, f := range files {
		id := strings.TrimSuffix(f.Name(), ".lock")
		if busy[id] {
			continue
		}
		s, err := l.Take(ctx, id)
		if err != nil {
			return err
		}
		s.End()
	}
	return nil
}
