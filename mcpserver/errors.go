package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// ErrorCode is the class of a tool's failure. The set is closed, so that an agent can be told about all of it.
type ErrorCode string

// The codes, with what each means for whoever asked.
const (
	CodeNotFound         ErrorCode = "NOT_FOUND"         // no such machine, file or job
	CodeConflict         ErrorCode = "CONFLICT"          // the name is taken, or the machine is in another state
	CodeInvalid          ErrorCode = "INVALID"           // an argument is wrong; the text names it
	CodeNotReady         ErrorCode = "NOT_READY"         // the machine did not come up
	CodeTimeoutTooLong   ErrorCode = "TIMEOUT_TOO_LONG"  // timeoutSecs is above the ceiling
	CodeTimeout          ErrorCode = "TIMEOUT"           // the call took too long and was given up
	CodeCancelled        ErrorCode = "CANCELLED"         // the client took the call back
	CodeUnsupported      ErrorCode = "UNSUPPORTED"       // this fleet or version cannot do it
	CodeUnauthorized     ErrorCode = "UNAUTHORIZED"      // the key is missing or not accepted
	CodeForbidden        ErrorCode = "FORBIDDEN"         // not allowed
	CodeRateLimited      ErrorCode = "RATE_LIMITED"      // too much at once; wait and ask again
	CodeLocalUnavailable ErrorCode = "LOCAL_UNAVAILABLE" // the local service cannot be used on this host
	CodeSmolvmTooOld     ErrorCode = "SMOLVM_TOO_OLD"    // smolvm is older than what is needed
	CodeUnavailable      ErrorCode = "UNAVAILABLE"       // the service did not answer
	CodeInternal         ErrorCode = "INTERNAL"          // something broke that should not
)

// ErrorCodes returns all codes.
func ErrorCodes() []ErrorCode {
	return []ErrorCode{
		CodeNotFound, CodeConflict, CodeInvalid, CodeNotReady, CodeTimeoutTooLong, CodeTimeout, CodeCancelled, CodeUnsupported,
		CodeUnauthorized, CodeForbidden, CodeRateLimited, CodeLocalUnavailable, CodeSmolvmTooOld, CodeUnavailable, CodeInternal,
	}
}

// ToolError is a failure as a client sees it. A source can return one to choose the code.
type ToolError struct {
	// Code is the class.
	Code ErrorCode
	// Message says what is wrong, Hint what to do about it; the hint may be empty.
	Message, Hint string
	// Err is the cause; it is not shown.
	Err error
}

// Error returns "CODE: message", and the hint on a line of its own.
func (e *ToolError) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Hint != "" {
		s += "\n" + e.Hint
	}
	return s
}

// Unwrap returns the cause.
func (e *ToolError) Unwrap() error { return e.Err }

// fail returns an error with a code and no hint.
func fail(code ErrorCode, format string, args ...any) *ToolError {
	return &ToolError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// hint sets what to do about e and returns it.
func (e *ToolError) hint(format string, args ...any) *ToolError {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// toToolError gives err its code. A nil err is nil.
func toToolError(ctx context.Context, err error) *ToolError {
	var te *ToolError
	var se *smol.Error
	var state *smol.StateError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &te):
		return te
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return &ToolError{Code: CodeCancelled, Message: "the call was cancelled: " + plain(err), Err: err}
	case codeOfLocal(err) != "":
		e := &ToolError{Code: codeOfLocal(err), Message: plain(err), Err: err}
		if errors.As(err, &se) {
			e.Hint = hintInArguments(se.Hint)
		}
		return e
	case errors.As(err, &state):
		return &ToolError{Code: CodeConflict, Message: plain(err), Hint: hintOfState(state), Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &ToolError{Code: CodeTimeout, Message: plain(err), Err: err}
	case errors.As(err, &se):
		e := &ToolError{Code: codeOf(se.Code), Message: plain(err), Hint: hintInArguments(se.Hint), Err: err}
		if se.RetryAfter > 0 && (e.Hint == "" || e.Code == CodeRateLimited) {
			e.Hint = "Ask again in " + seconds(se.RetryAfter+time.Second-1) + " s."
		}
		return e
	default:
		return &ToolError{Code: CodeInternal, Message: plain(err), Err: err}
	}
}

// plain returns the text of err as a client reads it: with its arguments' names instead of the library's, and without the code.
func plain(err error) string {
	text := err.Error()
	var se *smol.Error
	if errors.As(err, &se) && se.Error() == text {
		text = strings.TrimSuffix(text, " ("+string(se.Code)+")")
	}
	return inArguments(strings.TrimPrefix(text, "smol: "))
}

func codeOf(c smol.Code) ErrorCode {
	switch c {
	case smol.CodeNotFound:
		return CodeNotFound
	case smol.CodeExists, smol.CodeConflict:
		return CodeConflict
	case smol.CodeInvalid:
		return CodeInvalid
	case smol.CodeUnauthenticated:
		return CodeUnauthorized
	case smol.CodePermissionDenied:
		return CodeForbidden
	case smol.CodeRateLimited:
		return CodeRateLimited
	case smol.CodeUnavailable:
		return CodeUnavailable
	case smol.CodeUnsupported:
		return CodeUnsupported
	default:
		return CodeInternal
	}
}

// hintOfState says how a machine gets out of the state that was in the way.
func hintOfState(e *smol.StateError) string {
	switch e.Got {
	case smol.StateStopped:
		return "start-machine boots it."
	case smol.StateFailed:
		return "machine-logs may say why; delete-machine and create-machine make a fresh one."
	case smol.StateFrozen:
		return "Delete its branches, then stop-machine and start-machine: what runs in it is lost. Or branch-machine it again."
	case smol.StateUnreachable:
		return "stop-machine, then start-machine: what runs in it is lost."
	case smol.StatePaused:
		return "No tool here can resume it: use the service's own program."
	default:
		return ""
	}
}
