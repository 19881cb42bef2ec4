package local

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/lossy"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// spec is a command to run to its end.
type spec struct {
	// op names the operation in errors.
	op string
	// image: in a container. Bare machines run commands as the agent does.
	image     bool
	argv, env []string
	dir, user string
	stdin     *string
	timeout   *uint64
	// late is the text appended to stderr after a time-out, with a verb for the milliseconds.
	late string
}

// execResponse is the outcome of a command.
type execResponse struct {
	ExitCode  int    `json:"exitCode"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	StdoutB64 string `json:"stdoutB64"`
	StderrB64 string `json:"stderrB64"`
}

func outcome(code int, stdout, stderr []byte) *execResponse {
	b64 := base64.StdEncoding.EncodeToString
	return &execResponse{code, lossy.String(stdout), lossy.String(stderr), b64(stdout), b64(stderr)}
}

// runCommand runs a command to its end and answers with its outcome. It does not care whether anybody still wants that.
func (s *Server) runCommand(v *vm, sp *spec) (*execResponse, error) {
	fed := make(chan struct{})
	feed := sync.OnceFunc(func() { close(fed) })
	cmd := &sim.Command{Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user, Tied: true, WaitOutput: -1}
	stdout, stderr := &capture{image: sp.image}, &capture{image: sp.image}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if sp.image {
		cmd.WaitOutput = s.o.Grace
	}
	if sp.stdin != nil {
		cmd.Stdin = &feeder{strings.NewReader(*sp.stdin), feed}
	}
	if sp.stdin != nil && sp.image { // a container's input is written whole before any of its output is read
		stdout.gate, stderr.gate = fed, fed
	} else {
		feed()
	}
	p, err := v.inst.Start(context.WithoutCancel(s.tasks.Context()), cmd)
	if err != nil {
		feed()
		return sp.notStarted(err)
	}
	defer s.tasks.Track(p)()
	code, late, err := s.finish(p, sp, fed, feed)
	if err != nil {
		return nil, err
	}
	v.prove()
	return sp.response(code, late, stdout, stderr)
}

// finish waits for the end of a command, or ends it at its time-out. The clock of a container starts when its input has been written.
func (s *Server) finish(p sim.Process, sp *spec, fed <-chan struct{}, feed func()) (code int, late bool, err error) {
	e := s.tasks.Watch(p)
	var timeout, giveUp <-chan time.Time
	exited := e.Exited
	for {
		select {
		case <-fed:
			fed = nil
			if sp.timeout != nil {
				timeout = time.After(task.Seconds(*sp.timeout))
			}
			if sp.timeout != nil && !sp.image {
				giveUp = time.After(task.Seconds(*sp.timeout) + s.o.Grace)
			}
		case <-exited:
			exited, timeout = nil, nil
			feed()
		case <-timeout:
			timeout, late = nil, true
			task.Kill(p, sp.reach())
		case <-giveUp:
			return 0, false, internal("agent operation failed: %s: io operation failed: Resource temporarily unavailable (os error 11)", sp.op)
		case r := <-e.Waited:
			feed()
			if r.Err != nil {
				return 0, false, internal("agent operation failed: %s: connection to the agent lost: %v", sp.op, r.Err)
			}
			return r.Code, late, nil
		}
	}
}

func (sp *spec) reach() sim.Reach {
	if sp.image {
		return sim.ReachTree
	}
	return sim.ReachGroup
}

func (sp *spec) response(code int, late bool, stdout, stderr *capture) (*execResponse, error) {
	out, outOver := stdout.take()
	errs, errOver := stderr.take()
	if late {
		code = 124
		if sp.image {
			errs = fmt.Appendf(errs, sp.late, sp.ms())
		}
	}
	switch n := len(out) + len(errs); {
	case !sp.image && (outOver || errOver):
		return nil, internal("agent operation failed: %s: command output exceeded %d bytes and was truncated. Use streaming exec for large output", sp.op, outputCap)
	case sp.image && n > 20<<20:
		return nil, internal("agent operation failed: %s: command output too large (%d bytes; limit 20971520). Use streaming exec for large output", sp.op, n)
	}
	return outcome(code, out, errs), nil
}

// ms is the time-out in milliseconds, as large as it is.
func (sp *spec) ms() uint64 { return *sp.timeout * 1000 }

// notStarted is the answer for a command that the guest did not start.
func (sp *spec) notStarted(err error) (*execResponse, error) {
	text, mine := spawnText(err)
	switch {
	case !mine:
		return nil, internal("agent operation failed: %s: %v", sp.op, err)
	case !sp.image:
		return nil, internal("agent operation failed: %s: failed to spawn command: %s", sp.op, text)
	}
	return outcome(1, nil, []byte(sp.runtimeText(err, text)+"\n")), nil
}

// spawnText is the system's text for a program that cannot be started; false if it is not the program's fault.
func spawnText(err error) (string, bool) {
	if text := errnoText(err); text != "" {
		return text, true
	}
	return err.Error(), errors.Is(err, sim.ErrNoUser)
}

// runtimeText is what the container runtime says of it.
func (sp *spec) runtimeText(err error, text string) string {
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Path == sp.dir:
		return fmt.Sprintf("chdir to `%s`: No such file or directory", sp.dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("executable file `%s` not found in $PATH: No such file or directory", sp.argv[0])
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("open executable `%s`: Permission denied", sp.argv[0])
	}
	return text
}

func (v *vm) prove() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.proven = true
}
