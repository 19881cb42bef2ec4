package rest

import (
	"errors"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

// Answer returns the service's answer if err is one with that status.
func Answer(err error, status int) (*smol.Error, bool) {
	var e *smol.Error
	return e, errors.As(err, &e) && e.Status == status
}

// Lost reports whether err leaves open what the service did: it gave up on the answer, or the answer was lost or is not understood. An
// error of connecting does not.
func Lost(err error) bool {
	var e *smol.Error
	if !errors.As(err, &e) {
		return false // nil, or the caller's context
	}
	return e.Status == http.StatusRequestTimeout || e.Status == 0 && !unsent(e)
}

// unsent reports whether e, which has no status, is from before anything was sent.
func unsent(e *smol.Error) bool {
	var op *net.OpError
	return e.Code == smol.CodeInvalid || e.Code == smol.CodeUnsupported || errors.As(e.Err, &op) && op.Op == "dial"
}

// Meaning is what an answer of a service means in the library's vocabulary.
type Meaning struct {
	// Op is the operation and Status the HTTP status that it is about; "" and 0: any.
	Op     string
	Status int
	// ServerCode is the service's own code, Phrase a part of its message, in lower case; "": any.
	ServerCode, Phrase string
	// Code replaces the class of the status; "": keep it.
	Code smol.Code
	// Hint is what can be done.
	Hint string
}

// Interpret gives e the first of the meanings that is about it. What none of them knows keeps the class of its status.
func Interpret(e *smol.Error, meanings []Meaning) {
	text := strings.ToLower(e.Message)
	for _, m := range meanings {
		if (m.Op == "" || m.Op == e.Op) && (m.Status == 0 || m.Status == e.Status) && (m.ServerCode == "" || m.ServerCode == e.ServerCode) &&
			strings.Contains(text, m.Phrase) {
			if m.Code != "" {
				e.Code = m.Code
			}
			e.Hint = m.Hint
			return
		}
	}
}

// MissingImage returns the meanings of what services and the tools in their machines say when a registry has no image of a name.
func MissingImage(hint string) []Meaning {
	var all []Meaning
	for _, phrase := range []string{
		"image not found", "manifest unknown", "manifest_unknown", "name unknown", "name_unknown", "no such tag", "repository does not exist",
	} {
		all = append(all, Meaning{Phrase: phrase, Code: smol.CodeNotFound, Hint: hint})
	}
	return all
}

// Seconds returns d in whole seconds for a wire, rounded up: a little time must not become none.
func Seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
