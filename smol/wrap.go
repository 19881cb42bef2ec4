package smol

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// wrapError gives a backend's error the operation and the machine that the caller knows. Context errors stay what they are and
// get no code.
func wrapError(op, machine string, err error) error {
	var exit *ExitError
	var state *StateError
	var e *Error
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &state):
		s := *state
		s.Op, s.Machine = op, orElse(machine, s.Machine)
		return &s
	case errors.As(err, &e):
		c := *e
		c.Op, c.Machine = op, orElse(machine, c.Machine)
		return &c
	case isContextError(err):
		return contextError(op, machine, err)
	}
	return &Error{Op: op, Machine: machine, Code: CodeUnknown, Err: err}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// contextError says what was cut short by a context.
func contextError(op, machine string, err error) error {
	if machine != "" {
		op += " " + machine
	}
	return fmt.Errorf("smol: %s: %w", op, err)
}

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

// plainText returns the text of err for use within another error.
func plainText(err error) string {
	if err == nil {
		return "it panicked"
	}
	return strings.TrimPrefix(err.Error(), "smol: ")
}
