package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/smol-machines/smol-go/internal/rest"
	cloudwire "github.com/smol-machines/smol-go/internal/wire/cloud"
	"github.com/smol-machines/smol-go/smol"
)

// The exit codes for a program that does not exist: the shells' and the service's.
const (
	exitMissing      = 127
	exitMissingThere = 255
)

// Exec implements [smol.Backend]. The service boots a machine that is stopped. A program that does not exist is a result with exit code 127 and what
// the service said about it as standard error. Ending ctx does not end the command; Timeout does, with exit code 124.
//
// Output arrives in exact bytes and whole. A service that sends it only as text, and cuts or replaces some of it, is an error matching
// errors.ErrUnsupported, although the command has run.
//
// ExecRequest.User is trusted to a service only once it has shown, with a command that does nothing, that it knows the field; one that does not is
// refused before the command is sent. That is asked once for a machine and user.
func (b *Backend) Exec(ctx context.Context, id string, req *smol.ExecRequest) (*smol.ExecResult, error) {
	c, err := newCall(opExec, id)
	if err != nil {
		return nil, err
	}
	body, err := execBody(req)
	if err != nil {
		return nil, rest.Describe(err, c.Op, id)
	}
	if err := b.users.prove(ctx, b, c, req.User); err != nil {
		return nil, err
	}
	reply, err := b.exec(ctx, c, body)
	if err != nil {
		return nil, err
	}
	if req.User != "" && reply.User != req.User {
		b.users.forget(id, req.User)
		e := c.fail(smol.CodeUnknown, fmt.Sprintf("the service does not confirm that the command ran as %.80q", req.User))
		e.Hint = "it may have run as the image's user"
		return nil, e
	}
	res, err := execResult(reply)
	if err != nil {
		return nil, rest.Describe(err, c.Op, id)
	}
	missing := "executable file '" + req.Argv[0] + "' not found"
	if res.ExitCode == exitMissingThere && len(res.Stdout) == 0 && strings.Contains(string(res.Stderr), missing) {
		res.ExitCode = exitMissing
	}
	return res, nil
}

// exec sends a command. Only base64 is asked for, which halves the answer; services that do not know the query send the text, too.
func (b *Backend) exec(ctx context.Context, c *call, body *cloudwire.ExecRequest) (*cloudwire.ExecResult, error) {
	c.Query, c.Limit = "output=b64", maxExecReply
	var reply cloudwire.ExecResult
	if err := b.send(ctx, c, body, &reply); err != nil {
		return nil, err
	}
	if reply.ExitCode == nil {
		return nil, c.fail(smol.CodeUnknown, "the reply has no exit code")
	}
	return &reply, nil
}

// execBody checks and translates a command.
func execBody(req *smol.ExecRequest) (*cloudwire.ExecRequest, error) {
	env, err := rest.CheckExec(req)
	if err != nil {
		return nil, err
	}
	if err := checkUser(req.User); err != nil {
		return nil, err
	}
	out := &cloudwire.ExecRequest{Command: cloudwire.Command{Argv: req.Argv}, Dir: req.Dir, User: req.User}
	if req.Timeout > 0 {
		out.TimeoutSeconds = new(rest.Seconds(req.Timeout))
	}
	for _, v := range env {
		if out.Env == nil {
			out.Env = make(map[string]string, len(env))
		}
		out.Env[v[0]] = v[1] // the last one counts, as in os/exec
	}
	return out, nil
}

// execResult translates the answer to a command.
func execResult(reply *cloudwire.ExecResult) (*smol.ExecResult, error) {
	res := &smol.ExecResult{ExitCode: int(*reply.ExitCode)}
	for _, s := range []struct {
		name string
		get  func() ([]byte, bool, error)
		out  *[]byte
	}{{"output", reply.Output, &res.Stdout}, {"error output", reply.ErrorOutput, &res.Stderr}} {
		data, exact, err := s.get()
		if err != nil {
			return nil, &smol.Error{Code: smol.CodeUnknown, Message: "the reply is not understood: " + err.Error(), Err: err}
		}
		if !exact {
			return nil, &smol.Error{
				Code: smol.CodeUnsupported, Err: errors.ErrUnsupported,
				Message: "the service has cut or changed the command's " + s.name + ", which it sends as text only",
				Hint:    "the command has run; redirect its output to a file, and read that",
			}
		}
		*s.out = data
	}
	return res, nil
}
