package smol

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// wrapError gives an error the operation and the machine that the caller knows. Context errors stay what they are and get no code.
func wrapError(op, machine string, err error) error {
	machine = shownRef(machine)
	switch e := err.(type) {
	case nil:
		return nil
	case *ExitError:
		return e
	case *StateError:
		c := *e
		c.Op, c.Machine = op, orElse(machine, c.Machine)
		return &c
	case *Error:
		c := *e
		c.Op, c.Machine = op, orElse(machine, c.Machine)
		return &c
	case *contextError:
		return &contextError{op, machine, e.err}
	}
	if isContextError(err) {
		if cut, ok := err.(interface{ Interrupted() error }); ok {
			err = cut.Interrupted() // without the names that the backend knows
		}
		return &contextError{op, machine, err}
	}
	return &Error{Op: op, Machine: machine, Code: codeOf(err), Hint: hintOf(err), Err: err}
}

// shownRef returns a name as an error shows it: one that no machine can have may be anything, and of any length.
func shownRef(ref string) string {
	if ref == "" || validateRef(ref) == nil {
		return ref
	}
	const most = 64
	if len(ref) <= most {
		return strconv.Quote(ref)
	}
	return strconv.Quote(ref[:most]) + "…"
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// inTime returns err, or, if a limit of our own has ended what err is about, an error that says so: that of a context is for the caller's.
func inTime(err error, limit time.Duration) error {
	if err == nil || !isContextError(err) {
		return err
	}
	return &Error{Code: CodeUnavailable, Message: fmt.Sprintf("no answer within %s", limit)}
}

// contextError says what was cut short by a context.
type contextError struct {
	op, machine string
	err         error
}

// Error returns "smol: op machine: cause".
func (e *contextError) Error() string {
	return "smol: " + subject(e.op, e.machine) + strings.TrimPrefix(plainText(e.err), subject(e.op, e.machine))
}

// Unwrap returns the context's error and what was added to it.
func (e *contextError) Unwrap() error { return e.err }

// cause returns the error of a context that has ended, together with its cause if that is another one.
func cause(ctx context.Context) error {
	err, why := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(why, err) {
		return why
	}
	return fmt.Errorf("%w: %w", err, why)
}

// isMissingMachine reports whether err says that there is no such machine, as opposed to no such file in it.
func isMissingMachine(err error) bool {
	return errors.Is(err, ErrNotFound) && !errors.Is(err, fs.ErrNotExist) && !isMissingImage(err)
}

// isMissingImage reports whether err says that there is no such image. The service says so while it fails at something else.
func isMissingImage(err error) bool {
	var e *Error
	var state *StateError
	return errors.As(err, &e) && e.Code == CodeNotFound && (e.Status >= http.StatusInternalServerError || errors.As(err, &state))
}

// nameImage names the image in the hint of an error that says that there is none.
func nameImage(err error, image string) error {
	var e *Error
	if image == "" || !isMissingImage(err) || !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Hint = fmt.Sprintf("no registry that was asked gave the image %q: %s", image, e.Hint)
	return &named
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// invalidf says that an argument cannot be used. field is its path, such as "Spec.Ports[1].Guest".
func invalidf(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Message: field + " " + fmt.Sprintf(format, args...)}
}

// codeOf returns the code of err, or CodeUnknown if it has none.
func codeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, ErrConflict) {
		return CodeConflict
	}
	return CodeUnknown
}

// hintOf returns the hint of err, or "" if it has none.
func hintOf(err error) string {
	var e *Error
	var state *StateError
	switch {
	case errors.As(err, &e):
		return e.Hint
	case errors.As(err, &state):
		return state.Hint
	}
	return ""
}

// plainText returns the text of err for use within another error.
func plainText(err error) string {
	if err == nil {
		return "it panicked"
	}
	return strings.TrimPrefix(err.Error(), "smol: ")
}
