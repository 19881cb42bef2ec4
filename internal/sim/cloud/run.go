package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/smol-machines/smol-go/internal/lossy"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// spec is a command to run to its end.
type spec struct {
	machine   string
	argv, env []string
	dir, user string
	// echo is the user as the client has sent it.
	echo    *string
	stdin   *string
	timeout *uint64
}

const (
	// textCap is how many bytes of a stream the text of an outcome shows.
	textCap = 1 << 20
	// outputCap is how many are kept at all.
	outputCap = 256 << 20
)

// The exit codes of commands that have none of their own.
const (
	codeTimeout  = 124
	codeNotFound = 255
)

// execResponse is the outcome of a command.
type execResponse struct {
	MachineID       string  `json:"machineId"`
	ExitCode        int     `json:"exitCode"`
	Stdout          string  `json:"stdout"`
	Stderr          string  `json:"stderr"`
	StdoutB64       *string `json:"stdoutB64,omitempty"`
	StderrB64       *string `json:"stderrB64,omitempty"`
	StdoutTruncated bool    `json:"stdoutTruncated"`
	StderrTruncated bool    `json:"stderrTruncated"`
	DurationMS      int64   `json:"durationMs"`
	User            *string `json:"user"`
}

// outcome tells how a command ended, with the output that the client asked for.
func (s *Server) outcome(sp *spec, output string, code int, stdout, stderr []byte, took time.Duration) *execResponse {
	r := &execResponse{MachineID: sp.machine, ExitCode: code, DurationMS: took.Milliseconds(), User: sp.echo}
	if output != outputB64 || s.o.Old.NoB64 {
		r.Stdout, r.StdoutTruncated = clip(stdout)
		r.Stderr, r.StderrTruncated = clip(stderr)
	}
	if s.o.Old.NoB64 {
		return r
	}
	r.StdoutB64, r.StderrB64 = new(string), new(string)
	if output != outputText {
		*r.StdoutB64 = base64.StdEncoding.EncodeToString(stdout)
		*r.StderrB64 = base64.StdEncoding.EncodeToString(stderr)
	}
	return r
}

// clip returns the beginning of b as text, and whether there is more.
func clip(b []byte) (string, bool) {
	return lossy.String(b[:min(len(b), textCap)]), len(b) > textCap
}

// capture keeps a command's output up to the cap; what is beyond is dropped.
type capture struct {
	mu sync.Mutex
	b  []byte
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b = append(c.b, p[:min(len(p), outputCap-len(c.b))]...)
	return len(p), nil
}

// take returns what was kept. Output that comes later does not touch it.
func (c *capture) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b[:len(c.b):len(c.b)]
}

// runCommand runs a command to its end and answers with its outcome. It does not care whether anybody still wants that.
func (s *Server) runCommand(v *vm, sp *spec, output string) (*execResponse, error) {
	began := time.Now()
	stdout, stderr := &capture{}, &capture{}
	cmd := &sim.Command{
		Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user, Stdout: stdout, Stderr: stderr, Tied: true, WaitOutput: s.o.Grace,
	}
	if sp.stdin != nil {
		cmd.Stdin = strings.NewReader(*sp.stdin)
	}
	p, err := v.inst.Start(context.WithoutCancel(s.tasks.Context()), cmd)
	if err != nil {
		text, err := sp.notStarted(err)
		return s.outcome(sp, output, codeNotFound, nil, []byte(text), time.Since(began)), err
	}
	defer s.tasks.Track(p)()
	code, err := s.finish(p, sp)
	if err != nil {
		return nil, err
	}
	return s.outcome(sp, output, code, stdout.take(), stderr.take(), time.Since(began)), nil
}

// finish waits for the end of a command, or ends it and all it has started at its time-out.
func (s *Server) finish(p sim.Process, sp *spec) (int, error) {
	e := s.tasks.Watch(p)
	var timeout <-chan time.Time
	if sp.timeout != nil && *sp.timeout > 0 {
		t := time.NewTimer(task.Seconds(*sp.timeout))
		defer t.Stop()
		timeout = t.C
	}
	exited, late := e.Exited, false
	for {
		select {
		case <-exited:
			exited, timeout = nil, nil
		case <-timeout:
			timeout, late = nil, true
			task.Kill(p, sim.ReachTree)
		case r := <-e.Waited:
			switch {
			case r.Err != nil:
				return 0, fail(http.StatusBadGateway, "the machine went away while the command ran: %v", r.Err)
			case late:
				return codeTimeout, nil
			}
			return r.Code, nil
		}
	}
}

// notStarted is what the runtime says on stderr of a command that the guest did not start. The error is for what is not the command's fault.
func (sp *spec) notStarted(err error) (string, error) {
	var path *fs.PathError
	var number syscall.Errno
	switch {
	case errors.Is(err, sim.ErrNotRunning):
		return "", fail(http.StatusBadGateway, "the machine went away before the command ran")
	case errors.As(err, &path) && path.Path == sp.dir:
		return fmt.Sprintf("chdir to '%s': No such file or directory\n", sp.dir), nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("executable file '%s' not found in $PATH: No such file or directory\n", sp.argv[0]), nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("open executable '%s': Permission denied\n", sp.argv[0]), nil
	case errors.Is(err, sim.ErrNoUser):
		return fmt.Sprintf("user '%s': %v\n", sp.user, err), nil
	case errors.As(err, &number):
		return fmt.Sprintf("exec '%s': %v\n", sp.argv[0], number), nil
	}
	return "", fail(http.StatusBadGateway, "the node could not start the command: %v", err)
}
