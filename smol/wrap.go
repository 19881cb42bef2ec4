package smol

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// wrapError gives an error the operation and the machine that the caller knows. Context errors stay what they are and get no code.
func wrapError(op, machine string, err error) error {
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
		return &contextError{op, machine, err}
	}
	return &Error{Op: op, Machine: machine, Code: codeOf(err), Hint: hintOf(err), Err: err}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// contextError says what was cut short by a context.
type contextError struct {
	op, machine string
	err         error
}

// Error returns "smol: op machine: cause".
func (e *contextError) Error() string {
	return strings.TrimSuffix("smol: "+e.op+" "+e.machine, " ") + ": " + plainText(e.err)
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
	return errors.Is(err, ErrNotFound) && !errors.Is(err, fs.ErrNotExist)
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
