package cloud

import (
	"fmt"
	"net/http"
	"strings"
)

// ErrorStyle is a shape that error bodies have.
type ErrorStyle string

// The shapes of error bodies that the service has had.
const (
	// StyleProblem is that of RFC 9457: type, title, status, detail and code, as application/problem+json.
	StyleProblem ErrorStyle = "problem"
	// StyleCodeError is {"code":…,"error":…}, StyleErrorCode the same with the error first.
	StyleCodeError ErrorStyle = "code-error"
	StyleErrorCode ErrorStyle = "error-code"
	// StyleMessage is {"message":…} and names no code.
	StyleMessage ErrorStyle = "message"
	// StyleText is the text alone, as text/plain.
	StyleText ErrorStyle = "text"
	// StyleEmpty has no body at all.
	StyleEmpty ErrorStyle = "empty"
)

// Styles returns all shapes.
func Styles() []ErrorStyle {
	return []ErrorStyle{StyleProblem, StyleCodeError, StyleErrorCode, StyleMessage, StyleText, StyleEmpty}
}

// failure is an error that is told to the client in the shape of the day.
type failure struct {
	status     int
	code, text string
}

func (e *failure) Error() string { return e.text }

// bare is an error without a body.
type bare struct{ status int }

func (e *bare) Error() string { return http.StatusText(e.status) }

// codes are the failures' codes where nothing more exact is known.
var codes = map[int]string{
	http.StatusPaymentRequired: "payment_required",
	http.StatusTooManyRequests: "too_many_requests",
}

// fail returns a failure with the code that belongs to its status: "not_found" for 404.
func fail(status int, format string, args ...any) *failure {
	code := codes[status]
	if code == "" {
		code = strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
	}
	return &failure{status, code, fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *failure {
	return fail(http.StatusBadRequest, format, args...)
}

func unprocessable(format string, args ...any) *failure {
	return fail(http.StatusUnprocessableEntity, format, args...)
}

func conflict(format string, args ...any) *failure { return fail(http.StatusConflict, format, args...) }

func internal(format string, args ...any) *failure {
	return fail(http.StatusInternalServerError, format, args...)
}

func noMachine() *failure { return fail(http.StatusNotFound, "machine not found") }

// encode returns the failure as a body and its content type.
func (e *failure) encode(style ErrorStyle) (contentType string, body []byte) {
	if style == "" || style == StyleProblem {
		if e.status == http.StatusUnauthorized {
			style = StyleCodeError // these never had the newest shape
		} else {
			style = StyleProblem
		}
	}
	var v any
	switch style {
	case StyleEmpty:
		return "", nil
	case StyleText:
		return "text/plain; charset=utf-8", []byte(e.text)
	case StyleProblem:
		v = struct {
			Type   string `json:"type"`
			Title  string `json:"title"`
			Status int    `json:"status"`
			Detail string `json:"detail"`
			Code   string `json:"code"`
		}{"about:blank", http.StatusText(e.status), e.status, e.text, e.code}
	case StyleErrorCode:
		v = struct {
			Error string `json:"error"`
			Code  string `json:"code"`
		}{e.text, e.code}
	case StyleMessage:
		v = map[string]string{"message": e.text}
	default:
		v = struct {
			Code  string `json:"code"`
			Error string `json:"error"`
		}{e.code, e.text}
	}
	body = marshal(v)
	if style == StyleProblem {
		return "application/problem+json", body
	}
	return "application/json", body
}
