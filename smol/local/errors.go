package local

import (
	"errors"
	"net"
	"net/http"
	"strings"

	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// meaning is what an answer of the service means in the library's vocabulary.
type meaning struct {
	status int    // 0: any
	code   string // the service's own code; "": any
	phrase string // part of the message; "": any
	is     smol.Code
	hint   string
}

const (
	networkHint = "let it reach the registry: Spec.Network.Open, or Spec.Network.AllowHosts with the registry's hosts (for Docker Hub " +
		"registry-1.docker.io, auth.docker.io, production.cloudflare.docker.com)"
	branchableHint = "stop it and start it with StartOptions.Branchable, or create it with Spec.Branchable; that cannot be switched on while it runs"
	unknownHint    = "the service gave up on the answer, not on the work: look at the machine before trying again"
)

// meanings are tried in order; what none of them knows keeps the class of its status. The texts are those of releases 1.9 to 1.23: a
// release that words them differently costs a hint, never an answer.
var meanings = []meaning{
	{code: string(localwire.CodePortInUse), is: smol.CodeConflict, hint: "something else on this host uses the port: choose another Port.Host, or 0 for a free one"},
	{code: string(localwire.CodeRejuvenationFailed), is: smol.CodeUnavailable, hint: "the branch was undone; try again"},
	{code: string(localwire.CodeTimeout), is: smol.CodeUnavailable, hint: unknownHint},
	{status: http.StatusRequestTimeout, is: smol.CodeUnavailable, hint: unknownHint},
	{status: http.StatusConflict, phrase: "already exists", is: smol.CodeExists, hint: "choose another name, or use the machine that has it"},
	{status: http.StatusConflict, phrase: "is being created", is: smol.CodeExists, hint: "choose another name, or wait for the other request"},
	{status: http.StatusConflict, phrase: "already used by", is: smol.CodeExists, hint: "choose another name"},
	{status: http.StatusConflict, phrase: "retains a reusable fork checkpoint", is: smol.CodeConflict, hint: "stop it, then start it"},
	{status: http.StatusConflict, phrase: "frozen", is: smol.CodeConflict, hint: "delete its branches first"},
	{status: http.StatusConflict, phrase: "fork base of", is: smol.CodeConflict, hint: "delete its branches first, or use DeleteOptions.Cascade"},
	{status: http.StatusConflict, phrase: "clone(s) during deletion", is: smol.CodeConflict, hint: "delete its branches first, or use DeleteOptions.Cascade"},
	{status: http.StatusConflict, phrase: "log followers", is: smol.CodeConflict, hint: "at most 16 can follow logs at a time; end one of them"},
	{status: http.StatusBadRequest, phrase: "must be pulled from a registry", is: smol.CodeInvalid, hint: networkHint},
	{status: http.StatusBadRequest, phrase: "mount validation failed", is: smol.CodeInvalid, hint: "a directory that the machine mounts is gone from the host; put it back"},
	{status: http.StatusRequestEntityTooLarge, is: smol.CodeInvalid, hint: "the service takes files of 100 MiB and requests of 2 MiB"},
	{phrase: "pull image", is: smol.CodeInternal, hint: "check the image's name, the registry's credentials in smolvm's configuration or StartOptions, and " + networkHint},
	{phrase: "kvm permission denied", is: smol.CodePermissionDenied, hint: "let the user who runs smolvm read and write /dev/kvm, usually by joining the group kvm"},
	{phrase: "kvm not available", is: smol.CodeUnsupported, hint: "machines need hardware virtualization: enable it in the firmware, or nested virtualization in a virtual machine"},
	{phrase: "already starting or running this VM", is: smol.CodeConflict, hint: "another smolvm process holds it; if none does, delete the machine and create it again, or restart the service"},
	{phrase: "still alive after shutdown", is: smol.CodeConflict, hint: "try again in a few seconds"},
	{phrase: "output exceeded", is: smol.CodeInternal, hint: "Machine.Command has no limit of output; or redirect the output to a file"},
	{phrase: "output too large", is: smol.CodeInternal, hint: "Machine.Command has no limit of output; or redirect the output to a file"},
	{phrase: "os error 28", is: smol.CodeInternal, hint: "the disk is full: remove files in the machine, or create it with larger Spec.Resources"},
}

// explain adds to an answer of the service what it means here. Other errors pass through.
func explain(err error) error {
	var e *smol.Error
	if errors.As(err, &e) && e.Status >= http.StatusBadRequest {
		interpret(e)
	}
	return err
}

func interpret(e *smol.Error) {
	for _, m := range meanings {
		if (m.status == 0 || m.status == e.Status) && (m.code == "" || m.code == e.ServerCode) && strings.Contains(e.Message, m.phrase) {
			e.Code, e.Hint = m.is, m.hint
			return
		}
	}
}

// answer returns the service's answer if err is one with that status.
func answer(err error, status int) (*smol.Error, bool) {
	var e *smol.Error
	return e, errors.As(err, &e) && e.Status == status
}

// lost reports whether err leaves open what the service did: it gave up on the answer, or the answer was lost or is not understood. An
// error of connecting does not.
func lost(err error) bool {
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
