package local

import (
	"context"
	"net/http"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/smol"
)

// maxExecReply bounds the answer to a command: twice 11 MiB of output, as text in which every byte can take six, and in base64.
const maxExecReply = 192 << 20

// The exit codes of shells for a program that could not be run.
const (
	exitCannotRun = 126
	exitMissing   = 127
)

// execReply is the answer to a command. A field that is missing must not be taken for a zero.
type execReply struct {
	ExitCode  *int
	Stdout    string
	Stderr    string
	StdoutB64 []byte // nil: missing
	StderrB64 []byte
}

// Exec implements [smol.Backend]. The service boots a machine that is stopped, reboots one that does not answer, and stops one that is
// frozen: look at the state first.
//
// A program that does not exist is a result with exit code 127, one that cannot be run with 126, and what the service said about it as
// standard error. On a bare machine the service answers alike when the directory does not exist. In a machine made from an image the
// container runtime itself exits with 1, which is translated if it names the program.
//
// No output beyond 11 MiB a stream arrives. Ending ctx does not end the command; Timeout does.
func (b *Backend) Exec(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	const op = "exec"
	r, err := request(op, http.MethodPost, id, "/exec")
	if err != nil {
		return nil, err
	}
	r.Limit = maxExecReply
	body, err := wireExec(req)
	if err != nil {
		return nil, rest.Describe(err, op, id)
	}
	var reply execReply
	if err := b.send(ctx, r, body, &reply); err != nil {
		if res := spawnFailure(err); res != nil {
			return res, nil
		}
		return nil, b.unregistered(ctx, id, err)
	}
	res, err := reply.result()
	if err != nil {
		return nil, rest.Describe(err, op, id)
	}
	if res.ExitCode == 1 && len(res.Stdout) == 0 && strings.Contains(string(res.Stderr), "executable file `"+req.Argv[0]+"` not found") {
		res.ExitCode = exitMissing
	}
	return res, nil
}

// wireExec checks and translates a command.
func wireExec(req *smol.ExecRequest) (*localwire.ExecRequest, error) {
	if req.User != "" {
		return nil, unsupported("Cmd.User", "way to run a command as another user", "use su in the command; image machines run commands as the image's user")
	}
	env, err := rest.CheckExec(req)
	if err != nil {
		return nil, err
	}
	out := &localwire.ExecRequest{Command: req.Argv, Workdir: req.Dir}
	if req.Timeout > 0 {
		out.TimeoutSecs = new(uint64(rest.Seconds(req.Timeout))) // 0 on the wire kills at once
	}
	for _, v := range env {
		out.Env = append(out.Env, localwire.EnvVar{Name: v[0], Value: v[1]})
	}
	return out, nil
}

// result translates the answer. Output is taken from the base64 fields: the text has lost every byte that is not UTF-8. A service
// without them gives the text.
func (r *execReply) result() (*smol.ExecResult, error) {
	if r.ExitCode == nil {
		return nil, &smol.Error{Code: smol.CodeUnknown, Message: "the reply has no exit code"}
	}
	res := &smol.ExecResult{ExitCode: *r.ExitCode, Stdout: r.StdoutB64, Stderr: r.StderrB64}
	if res.Stdout == nil {
		res.Stdout = []byte(r.Stdout)
	}
	if res.Stderr == nil {
		res.Stderr = []byte(r.Stderr)
	}
	return res, nil
}

// spawnFailure returns the result of a command whose program a bare machine could not start, if that is what err says.
func spawnFailure(err error) *smol.ExecResult {
	e, ok := rest.Answer(err, http.StatusInternalServerError)
	if !ok {
		return nil
	}
	reason, ok := strings.CutPrefix(e.Message, "agent operation failed: vm exec: failed to spawn command: ")
	if !ok {
		return nil
	}
	res := &smol.ExecResult{Stderr: []byte(reason + "\n")}
	switch {
	case strings.Contains(reason, "os error 2)"):
		res.ExitCode = exitMissing
	case strings.Contains(reason, "os error 13)"), strings.Contains(reason, "os error 8)"):
		res.ExitCode = exitCannotRun // not executable, or of no format that is
	default:
		return nil
	}
	return res
}

// unregistered looks behind a "machine not found": the service lists machines that the smolvm command has made and does not let
// anything into them until it has started them itself. Taking such a machine for a missing one could end in a second one, or in none.
func (b *Backend) unregistered(ctx context.Context, id string, err error) error {
	e, ok := rest.Answer(err, http.StatusNotFound)
	if !ok {
		return err
	}
	e.Path = "" // it is the machine that was not found
	if _, look := b.Inspect(ctx, id); look != nil {
		return err
	}
	c := *e
	c.Code = smol.CodeConflict
	c.Hint = "the machine exists, made by another program, and the service has not taken it up: call Start"
	return &c
}
