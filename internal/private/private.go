// Package private keeps what the programs of one user share in a directory that nobody else can write: locks, and files that are
// replaced as a whole.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Error says why a directory cannot be used.
type Error struct {
	// Dir is the directory, Problem what is wrong with it, and Fix what to do about it.
	Dir, Problem, Fix string
	// Unsafe reports that others can write there, or that the directory is somebody else's.
	Unsafe bool
	// Err is the cause; nil if there is none.
	Err error
}

// Error returns what is wrong, with the directory; the fix is left out.
func (e *Error) Error() string { return e.Problem }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// RuntimeDir returns the directory that the programs of a user share unless they are told another one: below base, which belongs to the user, or
// one for the user below temp. A base that is empty or relative is as if there were none, as the XDG specification says of XDG_RUNTIME_DIR: programs that run
// elsewhere would mean another directory by it.
func RuntimeDir(base, temp string, uid int) string {
	if filepath.IsAbs(base) {
		return filepath.Join(base, "smol-mcp")
	}
	return filepath.Join(temp, fmt.Sprintf("smol-mcp-%d", uid))
}

// MakeDir makes a directory for this user only, unless there is one; that must be of this user and nobody else's. Its parents are made
// too. An error is an *Error.
func MakeDir(dir string) error {
	err := os.MkdirAll(filepath.Dir(dir), 0o700)
	if err == nil {
		err = makePrivate(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return &Error{Dir: dir, Problem: fmt.Sprintf("cannot make the runtime directory %s: %v", dir, err), Fix: "choose another one", Err: err}
	}
	return CheckDir(dir)
}

// CheckDir reports whether the directory can be trusted. An error is an *Error, which matches fs.ErrNotExist if there is none.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return &Error{Dir: dir, Problem: fmt.Sprintf("the runtime directory %s cannot be used: %v", dir, err), Fix: "choose another one", Err: err}
	}
	if !info.IsDir() {
		return refuse(dir, "is no directory", "remove it, or name a directory itself and not a link to it")
	}
	return checkPrivate(dir, info)
}

func refuse(dir, why, fix string) error {
	return &Error{Dir: dir, Problem: "the runtime directory " + dir + " " + why + "; whoever can write there could be served instead of you", Fix: fix, Unsafe: true}
}

// Replace replaces a file as a whole: whoever reads it finds what was there before or b. The caller holds a lock that excludes others who
// replace the same file.
func Replace(path string, b []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}
