package cloud

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// commandSpec is an argv, or a text for the shell.
type commandSpec struct{ argv []string }

// Match takes a string or a list of strings.
func (c *commandSpec) Match(b []byte) bool {
	var text *string
	if json.Unmarshal(b, &text) == nil && text != nil {
		c.argv = []string{"sh", "-c", *text}
		return true
	}
	var list []*string
	if json.Unmarshal(b, &list) != nil || list == nil {
		return false
	}
	c.argv = []string{}
	for _, s := range list {
		if s == nil {
			return false
		}
		c.argv = append(c.argv, *s)
	}
	return true
}

type machineCommandRequest struct {
	Command    commandSpec        `serde:"command"`
	Cwd        *string            `serde:"cwd"`
	Env        *map[string]string `serde:"env"`
	Stdin      *string            `serde:"stdin"`
	Timeout    *uint64            `serde:"timeoutSeconds"`
	Stream     bool               `serde:"stream,default"`
	Background bool               `serde:"background,default"`
	User       *string            `serde:"user"`
}

type execQuery struct {
	Output *string `serde:"output"`
}

// The families of output that a client may ask for.
const (
	outputText = "text"
	outputB64  = "b64"
	outputBoth = "both"
)

// execArgs decodes what exec and exec/stream have in common.
func (c *call) execArgs() (*machineCommandRequest, string, error) {
	var q execQuery
	if err := c.query(&q); err != nil {
		return nil, "", err
	}
	output := valueOr(q.Output, outputBoth)
	if !slices.Contains([]string{outputText, outputB64, outputBoth}, output) {
		return nil, "", badRequest("Failed to deserialize query string: output: unknown variant `%s`, expected one of `text`, `b64`, `both`", output)
	}
	req := &machineCommandRequest{}
	if err := c.decode(req); err != nil {
		return nil, "", err
	}
	return req, output, req.check()
}

func (req *machineCommandRequest) check() error {
	if len(req.Command.argv) == 0 || req.Command.argv[0] == "" {
		return badRequest("command must not be empty")
	}
	for _, s := range append([]string{valueOr(req.Cwd, ""), valueOr(req.User, "")}, req.Command.argv...) {
		if strings.Contains(s, "\x00") {
			return badRequest("command, cwd and user must not contain a NUL byte")
		}
	}
	return checkEnv(valueOr(req.Env, nil))
}

func (c *call) exec() (any, error) {
	req, output, err := c.execArgs()
	if err != nil {
		return nil, err
	}
	if req.Stream {
		return c.stream(req)
	}
	return c.command(req, output)
}

func (c *call) execStream() (any, error) {
	req, _, err := c.execArgs()
	if err != nil {
		return nil, err
	}
	return c.stream(req)
}

// command runs a command in the machine that the path names, and answers with its outcome.
func (c *call) command(req *machineCommandRequest, output string) (any, error) {
	m, v, end, err := c.ready()
	if err != nil {
		return nil, err
	}
	sp := m.spec(v, req)
	return task.Step(c.ctx, c.tasks, func() (any, error) {
		defer end()
		if req.Background {
			return c.runBackground(v, sp, output)
		}
		return c.runCommand(v, sp, output)
	}, nil)
}

// ready is what every call that needs the machine to run does first: it starts a machine that does not run. The machine counts as in use
// until end is called.
func (c *call) ready() (m *machine, v *vm, end func(), err error) {
	if m, err = c.find(); err != nil {
		return nil, nil, nil, err
	}
	end = m.begin()
	if v, err = c.awake(m); err != nil {
		end()
		return nil, nil, nil, err
	}
	return m, v, end, nil
}

func (c *call) awake(m *machine) (*vm, error) {
	rec, v := m.snapshot()
	if v != nil && rec.State == stateStarted && !rec.Frozen {
		return v, nil
	}
	if err := m.refusal(); err != nil {
		return nil, err
	}
	if err := c.payable(); err != nil {
		return nil, err
	}
	return exclusive(c, m, func() (*vm, error) { return m.wake("auto-start failed", &startQuery{}) })
}

// spec is a command as the machine runs it: the image's user, directory and environment count where nobody says otherwise.
func (m *machine) spec(v *vm, req *machineCommandRequest) *spec {
	rec, _ := m.snapshot()
	conf := environ.Config(v.inst)
	sp := &spec{
		machine: m.id, argv: req.Command.argv, dir: valueOr(req.Cwd, valueOr(rec.Workdir, conf.Dir)), user: conf.User,
		stdin: req.Stdin, timeout: req.Timeout,
		env: environ.Overlay(m.s.environment(v, &rec), environList(valueOr(req.Env, nil))),
	}
	if req.User != nil && *req.User != "" && !m.s.o.Old.NoUser {
		sp.user, sp.echo = *req.User, req.User
	}
	return sp
}

// environment is what every command of a machine sees: the image's variables, its own, and the placeholders of its credentials.
func (s *Server) environment(v *vm, rec *record) []string {
	env := environ.Overlay(environ.Image(environ.Config(v.inst)), environList(rec.Env))
	return environ.Overlay(env, s.placeholders(rec))
}
