package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
)

// How much of a text becomes part of a message, in bytes.
const (
	longText  = 8 << 10 // what a service meant to say
	plainText = 1 << 10 // text/plain, which frameworks send
	shortText = 200     // anything else, such as a gateway's page
)

// Decode makes an error of the body of a response that is not a success. It reads the JSON envelopes of both services in any order
// of fields, problem+json, plain text and pages, and takes anything else as it is: there is no body that it fails on.
func Decode(status int, contentType string, body []byte) *smol.Error {
	e := &smol.Error{Status: status, Code: CodeOf(status)}
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, `"`) {
		var ok bool
		if e.Message, e.ServerCode, ok = decodeJSON([]byte(text)); ok {
			if e.Message == "" {
				e.Message = describe(status, contentType, body)
			}
			return e
		}
	}
	page := strings.Contains(contentType, "html") || strings.HasPrefix(text, "<")
	if strings.HasPrefix(contentType, "text/plain") && !page {
		e.Message = clean(text, plainText)
	}
	if e.Message == "" {
		e.Message = describe(status, contentType, body)
	}
	return e
}

// decodeJSON looks for the text of an error and its code where services put them. It reports false for what is no JSON.
func decodeJSON(body []byte) (message, code string, ok bool) {
	var text string
	if json.Unmarshal(body, &text) == nil {
		return clean(text, longText), "", true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return "", "", false
	}
	code = scalar(fields["code"])
	for _, key := range []string{"detail", "error", "message", "title"} {
		raw := fields[key]
		if message = scalar(raw); message == "" && len(raw) > 0 && raw[0] == '{' {
			var inner string
			message, inner, _ = decodeJSON(raw)
			if code == "" {
				code = inner
			}
		}
		if message != "" {
			break
		}
	}
	return clean(message, longText), clean(code, 128), true
}

// scalar returns a JSON string or number as text, and "" for anything else.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// CodeOf returns the class of an HTTP status. A service's own code can say more.
func CodeOf(status int) smol.Code {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusRequestURITooLong, http.StatusRequestedRangeNotSatisfiable, http.StatusRequestHeaderFieldsTooLarge:
		return smol.CodeInvalid
	case http.StatusUnauthorized:
		return smol.CodeUnauthenticated
	case http.StatusForbidden, http.StatusPaymentRequired:
		return smol.CodePermissionDenied
	case http.StatusNotFound, http.StatusGone:
		return smol.CodeNotFound
	case http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked:
		return smol.CodeConflict
	case http.StatusTooManyRequests:
		return smol.CodeRateLimited
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return smol.CodeUnsupported
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return smol.CodeUnavailable
	case http.StatusInternalServerError:
		return smol.CodeInternal
	}
	return smol.CodeUnknown
}

// RetryAfter reads the header of that name: seconds or a date. Nonsense and the past are zero; more than a day is a day.
func RetryAfter(value string) time.Duration {
	const most = 24 * time.Hour
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, most)
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, min(time.Until(t), most))
	}
	return 0
}

// clean makes one line of s that is safe to print, of at most limit bytes.
func clean(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if !unicode.IsPrint(r) || r == ' ' {
			space = b.Len() > 0
			continue
		}
		if n := utf8.RuneLen(r); b.Len()+n+1 > limit {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
