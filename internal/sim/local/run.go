package local

import (
	"slices"

	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/serde"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

type runRequest struct {
	Image   string               `serde:"image"`
	Command []string             `serde:"command"`
	Env     []envVar             `serde:"env,default"`
	Workdir *string              `serde:"workdir"`
	Timeout *uint64              `serde:"timeoutSecs"`
	Secrets map[string]secretRef `serde:"secrets,default"`
}

// run runs a command in a container of an image that the machine has pulled. Here its writes are the machine's.
func (c *call) runImage() (any, error) {
	req := &runRequest{}
	if err := c.decode(req, &serde.Options{DenyUnknown: true}); err != nil {
		return nil, err
	}
	if len(req.Command) == 0 {
		return nil, badRequest("command cannot be empty")
	}
	m, v, err := c.ready()
	if err != nil {
		return nil, err
	}
	sp, err := m.runSpec(v, req)
	if err != nil {
		v.disconnect()
		return nil, err
	}
	return task.Step(c.ctx, c.tasks, func() (any, error) {
		defer v.disconnect()
		return c.runCommand(v, sp)
	}, nil)
}

func (m *machine) runSpec(v *vm, req *runRequest) (*spec, error) {
	const op = "run command"
	if err := checkSecrets(req.Secrets); err != nil {
		return nil, err
	}
	env, err := variables(req.Env)
	if err != nil {
		return nil, err
	}
	for _, e := range req.Env {
		if len(e.Value) > 32<<10 {
			return nil, internal("agent operation failed: %s: env value of %s exceeds 32768 bytes", op, e.Name)
		}
	}
	rec, _ := m.snapshot()
	if image := normalise(req.Image); !slices.Contains(rec.Images, image) {
		return nil, internal("agent operation failed: %s: image not found: %s", op, image)
	}
	return &spec{
		op: op, image: true, argv: req.Command, env: environ.Overlay(runEnv(), env), dir: valueOr(req.Workdir, "/"), user: environ.Config(v.inst).User,
		timeout: req.Timeout, late: "\ncontainer timed out after %dms",
	}, nil
}
