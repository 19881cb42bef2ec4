package cloud

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	"github.com/smol-machines/smol-go/smol"
)

const (
	branchableHint = "create it with Spec.Branchable; that cannot be switched on later"
	registryHint   = "check the image's name; if the machine itself pulls it, it must reach the registry: Spec.Network.Open, or Spec.Network.AllowHosts " +
		"with every host of the registry"
	quotaHint  = "delete machines that are not needed, stopped ones too, or choose another plan at https://smolmachines.com/console"
	creditHint = "see the account at https://smolmachines.com/console"
)

// meanings are tried in order; what none of them knows keeps the class of its status. A text that a service words differently costs a hint,
// never an answer.
var meanings = slices.Concat(rest.MissingImage(registryHint), []rest.Meaning{
	{Status: http.StatusUnauthorized, ServerCode: "expired_key", Hint: "the key has expired; " + keysHint},
	{Status: http.StatusUnauthorized, Hint: keysHint},
	{Status: http.StatusPaymentRequired, Hint: creditHint},
	{Status: http.StatusForbidden, Phrase: "missing scope", Hint: "the key lacks that scope; " + keysHint},
	{Status: http.StatusUnprocessableEntity, Phrase: "machine count quota exceeded", Code: smol.CodeConflict, Hint: quotaHint},
	{Status: http.StatusUnprocessableEntity, Phrase: "concurrency limit reached", Code: smol.CodeConflict, Hint: "stop machines that need not run, or choose another plan at https://smolmachines.com/console"},
	{Status: http.StatusUnprocessableEntity, Phrase: "no capacity", Code: smol.CodeUnavailable, Hint: "try again later, or ask for less"},
	{Op: "create", Status: http.StatusConflict, Code: smol.CodeExists, Hint: "choose another name, or use the machine that has it"},
	{Op: "branch", Status: http.StatusConflict, Phrase: "branchable", Code: smol.CodeConflict, Hint: branchableHint},
	{Op: "branch", Status: http.StatusConflict, Phrase: "forkable", Code: smol.CodeConflict, Hint: branchableHint},
	{Op: "branch", Status: http.StatusConflict, Phrase: "name", Code: smol.CodeExists, Hint: "choose another name"},
	{Op: "branch", Status: http.StatusConflict, Phrase: "already exists", Code: smol.CodeExists, Hint: "choose another name"},
	{Status: http.StatusTooManyRequests, Hint: "wait as long as RetryAfter says, and ask less often"},
	{Op: "start", Phrase: "pull", Hint: registryHint},
	{Op: "start", Phrase: "credential", Hint: "a credential that the machine is bound to is missing; store it again"},
})

// explain adds to an answer of the service what it means here. Other errors, and nil, pass through.
func explain(err error) error {
	var e *smol.Error
	if !errors.As(err, &e) || e.Status < http.StatusMultipleChoices {
		return err
	}
	rest.Interpret(e, meanings)
	if e.Status < http.StatusBadRequest {
		e.Hint = "the key is not sent to where a redirect leads; set " + EnvURL + " to the address itself"
	}
	return err
}

// saysMachine reports whether e, a 404, is about the machine.
func saysMachine(e *smol.Error) bool {
	return strings.Contains(strings.ToLower(e.Message), "machine not found")
}
