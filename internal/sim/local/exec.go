package local

import (
	"context"
	"fmt"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/serde"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

type execRequest struct {
	Command    []string             `serde:"command"`
	Env        []envVar             `serde:"env,default"`
	Workdir    *string              `serde:"workdir"`
	Timeout    *uint64              `serde:"timeoutSecs"`
	Stdin      *string              `serde:"stdin"`
	Background bool                 `serde:"background,default"`
	Secrets    map[string]secretRef `serde:"secrets,default"`
}

// execArgs does what exec and exec/stream have in common: it decodes, makes the machine run, and checks what the command brings. A
// connection of the machine is taken when it succeeds.
func (c *call) execArgs() (*execRequest, *vm, *spec, error) {
	req := &execRequest{}
	if err := c.decode(req, &serde.Options{DenyUnknown: true}); err != nil {
		return nil, nil, nil, err
	}
	if len(req.Command) == 0 {
		return nil, nil, nil, badRequest("command cannot be empty")
	}
	m, v, err := c.ready()
	if err != nil {
		return nil, nil, nil, err
	}
	err = checkSecrets(req.Secrets)
	var env []string
	if err == nil {
		env, err = variables(req.Env)
	}
	if err != nil {
		v.disconnect()
		return nil, nil, nil, err
	}
	sp := m.spec(v, req.Command, env, valueOr(req.Workdir, ""))
	sp.stdin, sp.timeout = req.Stdin, req.Timeout
	return req, v, sp, nil
}

// spec is a command as the machine runs it: user, directory and environment depend on whether it has an image.
func (m *machine) spec(v *vm, argv, env []string, dir string) *spec {
	rec, _ := m.snapshot()
	if rec.Image == "" {
		return &spec{op: "vm exec", argv: argv, env: environ.Overlay(agentEnv(), env), dir: dir}
	}
	conf := environ.Config(v.inst)
	if dir == "" {
		dir = conf.Dir
	}
	return &spec{
		op: "run command", image: true, argv: argv, env: environ.Overlay(environ.Image(conf), env), dir: dir, user: conf.User,
		late: "\ncommand timed out after %dms",
	}
}

func (c *call) exec() (any, error) {
	req, v, sp, err := c.execArgs()
	if err != nil {
		return nil, err
	}
	do := func() (any, error) { return c.runCommand(v, sp) }
	if req.Background {
		do = func() (any, error) { return c.runBackground(v, sp) }
	}
	return task.Step(c.ctx, c.tasks, func() (any, error) {
		defer v.disconnect()
		return do()
	}, nil)
}

// runBackground starts a command that nobody waits for.
func (s *Server) runBackground(v *vm, sp *spec) (*execResponse, error) {
	p, err := v.inst.Start(context.WithoutCancel(s.tasks.Context()), &sim.Command{Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user})
	pid := 0
	switch {
	case err == nil:
		pid = p.PID()
		task.Reap(p)
	case sp.image: // the runtime client was started, and is all that was asked for
	default:
		text, mine := spawnText(err)
		if mine {
			text = "failed to spawn background command: " + text
		}
		return nil, internal("agent operation failed: vm exec background: %s", text)
	}
	return outcome(0, fmt.Appendf(nil, "pid=%d\n", pid), nil), nil
}
