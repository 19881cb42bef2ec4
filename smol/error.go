package smol

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Code is the class of an [Error]. The set is closed.
type Code string

// The codes. The comment names the sentinel that errors.Is also matches.
const (
	CodeNotFound         Code = "not_found"         // ErrNotFound; fs.ErrNotExist for files of a machine
	CodeExists           Code = "already_exists"    // ErrExists: the name is taken
	CodeConflict         Code = "conflict"          // ErrConflict: wrong state, busy
	CodeInvalid          Code = "invalid"           // ErrInvalid: an argument the library or the fleet refuses
	CodeUnauthenticated  Code = "unauthenticated"   // ErrUnauthenticated: no token, or one that is not accepted
	CodePermissionDenied Code = "permission_denied" // ErrPermission and fs.ErrPermission
	CodeRateLimited      Code = "rate_limited"      // ErrRateLimited: too many requests; see RetryAfter
	CodeUnavailable      Code = "unavailable"       // ErrUnavailable: cannot connect, cut off, overloaded
	CodeUnsupported      Code = "unsupported"       // errors.ErrUnsupported
	CodeInternal         Code = "internal"          // the service failed; no sentinel
	CodeUnknown          Code = "unknown"           // anything else; no sentinel
)

// Sentinels for errors.Is. An [*Error] matches the one its code names.
var (
	ErrNotFound        = errors.New("not found")
	ErrExists          = errors.New("already exists")
	ErrConflict        = errors.New("conflict")
	ErrInvalid         = errors.New("invalid")
	ErrUnauthenticated = errors.New("unauthenticated")
	ErrPermission      = errors.New("permission denied")
	ErrRateLimited     = errors.New("rate limited")
	ErrUnavailable     = errors.New("unavailable")
)

// Error is a failure of a fleet, of the way to it, or of the arguments it was given. It never holds a token.
type Error struct {
	// Op is what was being done, such as "create" or "read file".
	Op string
	// Machine is the name or id of the machine, if there was one; one that cannot be is quoted and cut.
	Machine string
	// Path is the file in the machine, for operations on files.
	Path string
	// Code is the class of the failure; never empty.
	Code Code
	// Message is the service's words, or ours.
	Message string
	// Hint is what a person can do next. It is not part of the text of the error. It may be empty.
	Hint string
	// Status is the HTTP status, or 0 if no response arrived.
	Status int
	// ServerCode is the service's own code, verbatim.
	ServerCode string
	// RequestID is the service's id of the request.
	RequestID string
	// RetryAfter is how long the service asked to wait; zero if it did not.
	RetryAfter time.Duration
	// Err is the cause. Context errors and network errors stay reachable through it.
	Err error
}

// Error returns "smol: op machine path: message (code)".
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = strings.TrimPrefix(plainText(e.Err), subject(e.Op, e.Machine))
	}
	return fmt.Sprintf("smol: %s%s (%s)", subject(e.Op, e.Machine, e.Path), msg, e.Code)
}

// subject returns those of the words that are not empty, and ": ": what an error is about.
func subject(words ...string) string {
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, " ") + ": "
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of e's code.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case CodeNotFound:
		return target == ErrNotFound || e.Path != "" && target == fs.ErrNotExist
	case CodeExists:
		return target == ErrExists || e.Path != "" && target == fs.ErrExist
	case CodeConflict:
		return target == ErrConflict
	case CodeInvalid:
		return target == ErrInvalid
	case CodeUnauthenticated:
		return target == ErrUnauthenticated
	case CodePermissionDenied:
		return target == ErrPermission || target == fs.ErrPermission
	case CodeRateLimited:
		return target == ErrRateLimited
	case CodeUnavailable:
		return target == ErrUnavailable
	case CodeUnsupported:
		return target == errors.ErrUnsupported
	}
	return false
}

// LogValue gives slog the fields of e that are set.
func (e *Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("code", string(e.Code))}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("op", e.Op)
	add("machine", e.Machine)
	add("path", e.Path)
	add("message", e.Message)
	add("hint", e.Hint)
	add("server_code", e.ServerCode)
	add("request_id", e.RequestID)
	if e.Status != 0 {
		attrs = append(attrs, slog.Int("status", e.Status))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("cause", e.Err.Error()))
	}
	return slog.GroupValue(attrs...)
}

// StateError says that a machine is in a state in which the call cannot be made, or that it reached a state from which
// what was waited for cannot come. It matches [ErrConflict].
type StateError struct {
	// Op is what was being done, Machine the machine's name.
	Op, Machine string
	// Want is the state that was needed, Got the one observed.
	Want, Got State
	// Reason is the fleet's explanation, if it gave one.
	Reason string
	// Hint is what can be done about it.
	Hint string
}

// Error returns "smol: op machine: machine is got, not want: reason".
func (e *StateError) Error() string {
	text := fmt.Sprintf("smol: %smachine is %s, not %s", subject(e.Op, e.Machine), e.Got, e.Want)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Is reports whether target is [ErrConflict].
func (e *StateError) Is(target error) bool { return target == ErrConflict }

// ExitError says that a command ran and did not succeed.
type ExitError struct {
	// Code is the exit code: 1 to 255, 128+n for a death by signal n, 124 when TimedOut.
	Code int
	// Signal is the signal that ended the command, only where it was this library that sent it; a shell in the
	// machine cannot tell exit 143 from a death by SIGTERM, so otherwise it is empty and Code is 128+n.
	Signal Signal
	// TimedOut reports that [Cmd.Timeout] ended the command.
	TimedOut bool
	// Timeout is that limit if TimedOut, else zero.
	Timeout time.Duration
	// Stderr holds up to 32 KiB of the command's standard error, if [Cmd.Stderr] was nil: the first and last parts.
	Stderr []byte
	// Hint explains a code that is easily misread, such as 137.
	Hint string
}

// Error describes how the command ended, as os/exec does: "exit status 2", "signal: TERM", "timed out after 1s".
func (e *ExitError) Error() string {
	switch {
	case e.TimedOut && e.Timeout > 0:
		return "timed out after " + e.Timeout.String()
	case e.TimedOut:
		return "timed out"
	case e.Signal != "":
		return "signal: " + string(e.Signal)
	default:
		return fmt.Sprintf("exit status %d", e.Code)
	}
}
