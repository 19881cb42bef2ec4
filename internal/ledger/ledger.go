// Package ledger remembers, for the programs of one user on one host, which machines go with which session, so that a later program can
// delete what one that was killed has left.
//
// What they share lies in a directory of that user:
//
//   - machines.json, the machines on record, written before they are asked for;
//   - machines.lock, held by who reads or writes the record, and by who takes up or leaves a session;
//   - host-id, by which a fleet with labels tells the machines of this directory from others;
//   - sessions/ID.lock, held for as long as the session lives. The system releases it when its holder dies, however that comes about.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/private"
	"github.com/smol-machines/smol-go/internal/randhex"
)

// lockTime is how long another program may hold the record. It takes milliseconds.
const lockTime = 10 * time.Second

// Error says what of the directory cannot be used, and what to do about it.
type Error struct {
	// Problem is what is wrong, Fix what to do.
	Problem, Fix string
	// Err is the cause; nil if there is none.
	Err error
}

// Error returns the problem.
func (e *Error) Error() string { return e.Problem }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ledger is the record of one directory. It is safe for concurrent use, also by several programs.
type Ledger struct{ dir string }

// New returns the record in dir, which need not exist; its parents are made too, once there is something to keep. It does no I/O.
func New(dir string) *Ledger { return &Ledger{dir} }

func (l *Ledger) path(name string) string { return filepath.Join(l.dir, name) }

// lock takes machines.lock and makes the directory. The context bounds the wait.
func (l *Ledger) lock(ctx context.Context) (*private.Lock, error) {
	if err := private.MakeDir(l.dir); err != nil {
		return nil, dirError(err)
	}
	path := l.path("machines.lock")
	held, err := private.Acquire(ctx.Done(), lockTime, path)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &Error{fmt.Sprintf("cannot lock %s: %v", path, err), "see which program holds it, and that the file system has locks", err}
	}
	return held, nil
}

func dirError(err error) error {
	var e *private.Error
	if errors.As(err, &e) {
		return &Error{e.Problem, e.Fix, e.Err}
	}
	return err
}

// there reports whether the directory exists. One that cannot be trusted is an error.
func (l *Ledger) there() (bool, error) {
	err := private.CheckDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, dirError(err)
}

// Host returns the id of this directory, 16 hexadecimal digits, and makes it up if there is none yet.
func (l *Ledger) Host(ctx context.Context) (string, error) {
	held, err := l.lock(ctx)
	if err != nil {
		return "", err
	}
	defer held.Release()
	id, err := l.host()
	if err != nil || id != "" {
		return id, err
	}
	id = randhex.String(hostBytes)
	if err := private.Replace(l.path("host-id"), []byte(id+"\n")); err != nil {
		return "", unwritten(l.path("host-id"), err)
	}
	return id, nil
}

// KnownHost is Host for who only looks: it changes nothing, and returns "" if there is no id yet.
func (l *Ledger) KnownHost() (string, error) {
	if ok, err := l.there(); !ok {
		return "", err
	}
	return l.host()
}

// hostBytes is how many bytes the id of a host has.
const hostBytes = 8

func (l *Ledger) host() (string, error) {
	path := l.path("host-id")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	id := strings.TrimSuffix(string(b), "\n")
	if err == nil && !isID(id, 2*hostBytes) {
		err = errors.New("it holds no id")
	}
	if err != nil {
		return "", &Error{fmt.Sprintf("the id of this host in %s cannot be read: %v", path, err), "remove the file; machines in the cloud that carry the old id are left to their time limit", err}
	}
	return id, nil
}

func unwritten(path string, err error) error {
	return &Error{fmt.Sprintf("cannot write %s: %v", path, err), "see that the disk is not full", err}
}

// isID reports whether s is n lower-case hexadecimal digits.
func isID(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// Add puts a machine on record, before it is asked for. An entry of the same session and name is replaced.
func (l *Ledger) Add(ctx context.Context, e Entry) error {
	return l.update(ctx, func(all []Entry) []Entry { return append(without(all, e.Session, e.Name), e) })
}

// Remove takes the machine of that session and name off the record. One that is not on it is no error.
func (l *Ledger) Remove(ctx context.Context, session, name string) error {
	return l.update(ctx, func(all []Entry) []Entry { return without(all, session, name) })
}

func without(all []Entry, session, name string) []Entry {
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Session == session && e.Name == name })
}

// update changes the record. What change is given is sound, and what it returns must be.
func (l *Ledger) update(ctx context.Context, change func([]Entry) []Entry) error {
	held, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer held.Release()
	before, err := l.read()
	if err != nil {
		return err
	}
	after := change(slices.Clone(before))
	if slices.Equal(before, after) {
		return nil
	}
	b, err := format(after)
	if err != nil {
		return err
	}
	if err := private.Replace(l.path("machines.json"), b); err != nil {
		return unwritten(l.path("machines.json"), err)
	}
	return nil
}

// Entries returns what is on record, oldest first. A record that cannot be read is an error.
func (l *Ledger) Entries() ([]Entry, error) {
	if ok, err := l.there(); !ok {
		return nil, err
	}
	return l.read()
}
