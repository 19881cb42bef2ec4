package local

import (
	"errors"
	"net/http"
	"slices"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

const (
	networkHint = "let it reach the registry: Spec.Network.Open, or Spec.Network.AllowHosts with the registry's hosts (for Docker Hub " +
		"registry-1.docker.io, auth.docker.io, production.cloudflare.docker.com)"
	branchableHint = "stop it and start it with StartOptions.Branchable, or create it with Spec.Branchable; that cannot be switched on while it runs"
	imageHint      = "check the image's name; for an image that is not public give CreateOptions.RegistryUser or StartOptions.RegistryUser"
	unknownHint    = "the service gave up on the answer, not on the work: look at the machine before trying again"
)

// meanings are tried in order; what none of them knows keeps the class of its status. The texts are those of releases 1.9 to 1.23: a
// release that words them differently costs a hint, never an answer.
var meanings = slices.Concat(rest.MissingImage(imageHint), []rest.Meaning{
	{ServerCode: string(localwire.CodePortInUse), Code: smol.CodeConflict, Hint: "something else on this host uses the port: choose another Port.Host, or 0 for a free one"},
	{ServerCode: string(localwire.CodeRejuvenationFailed), Code: smol.CodeUnavailable, Hint: "the branch was undone; try again"},
	{ServerCode: string(localwire.CodeTimeout), Code: smol.CodeUnavailable, Hint: unknownHint},
	{Status: http.StatusRequestTimeout, Code: smol.CodeUnavailable, Hint: unknownHint},
	{Status: http.StatusConflict, Phrase: "already exists", Code: smol.CodeExists, Hint: "choose another name, or use the machine that has it"},
	{Status: http.StatusConflict, Phrase: "is being created", Code: smol.CodeExists, Hint: "choose another name, or wait for the other request"},
	{Status: http.StatusConflict, Phrase: "already used by", Code: smol.CodeExists, Hint: "choose another name"},
	{Status: http.StatusConflict, Phrase: "retains a reusable fork checkpoint", Code: smol.CodeConflict, Hint: "stop it, then start it"},
	{Status: http.StatusConflict, Phrase: "frozen", Code: smol.CodeConflict, Hint: "delete its branches first"},
	{Status: http.StatusConflict, Phrase: "fork base of", Code: smol.CodeConflict, Hint: "delete its branches first; a delete can do that with DeleteOptions.Cascade"},
	{Status: http.StatusConflict, Phrase: "clone(s) during deletion", Code: smol.CodeConflict, Hint: "delete its branches first, or use DeleteOptions.Cascade"},
	{Status: http.StatusConflict, Phrase: "log followers", Code: smol.CodeConflict, Hint: "at most 16 can follow logs at a time; end one of them"},
	{Status: http.StatusBadRequest, Phrase: "must be pulled from a registry", Code: smol.CodeInvalid, Hint: networkHint},
	{Status: http.StatusBadRequest, Phrase: "mount validation failed", Code: smol.CodeInvalid, Hint: "a directory that the machine mounts is gone from the host; put it back"},
	{Status: http.StatusRequestEntityTooLarge, Code: smol.CodeInvalid, Hint: "the service takes files of 100 MiB and requests of 2 MiB"},
	{Phrase: "pull image", Code: smol.CodeInternal, Hint: "check the image's name, the registry's credentials in smolvm's configuration or in CreateOptions and StartOptions, and " + networkHint},
	{Phrase: "kvm permission denied", Code: smol.CodePermissionDenied, Hint: "let the user who runs smolvm read and write /dev/kvm, usually by joining the group kvm"},
	{Phrase: "kvm not available", Code: smol.CodeUnsupported, Hint: "machines need hardware virtualization: enable it in the firmware, or nested virtualization in a virtual machine"},
	{Phrase: "already starting or running this vm", Code: smol.CodeConflict, Hint: "another smolvm process holds it; if none does, delete the machine and create it again, or restart the service"},
	{Phrase: "still alive after shutdown", Code: smol.CodeConflict, Hint: "try again in a few seconds"},
	{Phrase: "output exceeded", Code: smol.CodeInternal, Hint: "Machine.Command has no limit of output; or redirect the output to a file"},
	{Phrase: "output too large", Code: smol.CodeInternal, Hint: "Machine.Command has no limit of output; or redirect the output to a file"},
	{Phrase: "os error 28", Code: smol.CodeInternal, Hint: "the disk is full: remove files in the machine, or create it with larger Spec.Resources"},
})

// explain adds to an answer of the service what it means here. Other errors pass through.
func explain(err error) error {
	var e *smol.Error
	if errors.As(err, &e) && e.Status >= http.StatusBadRequest {
		rest.Interpret(e, meanings)
	}
	return err
}
