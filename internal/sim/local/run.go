package local

import (
	"context"
	"os"
	"slices"

	"github.com/smol-machines/smol-go/internal/sim"
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

// runImage runs a command in a throw-away container of an image that the machine has pulled.
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
	sp, err := m.runSpec(req)
	if err != nil {
		v.disconnect()
		return nil, err
	}
	return task.Step(c.ctx, c.tasks, func() (any, error) {
		defer v.disconnect()
		return c.runApart(m, v, normalise(req.Image), sp)
	}, nil)
}

// runApart runs a command in a throw-away container. Here that is a machine made for the command alone, with the mounts of the one it
// belongs to, and without its loopback, which a container shares.
func (s *Server) runApart(m *machine, v *vm, image string, sp *spec) (_ *execResponse, err error) {
	rec, _ := m.snapshot()
	mounts := rec.simMounts()
	for i := range mounts {
		mounts[i].Source = v.sources[i]
	}
	dir := s.scratch(m.name)
	defer func() {
		if removeErr := s.o.Guest.Remove(dir); removeErr != nil {
			s.o.Log.Warn("container not removed", "machine", m.name, "err", removeErr)
		}
	}()
	ctx, cancel := context.WithTimeout(s.tasks.Context(), bootLimit)
	defer cancel()
	err = os.Mkdir(dir, 0o700)
	var inst sim.Instance
	if err == nil {
		inst, err = s.o.Guest.Boot(ctx, &sim.Boot{Dir: dir, Name: m.name, Image: image, Mounts: mounts})
	}
	if err != nil {
		return nil, internal("agent operation failed: %s: %v", sp.op, err)
	}
	over := make(chan struct{})
	defer close(over)
	s.tasks.Go(func() { // it ends with its machine
		select {
		case <-v.inst.Done():
			_ = inst.Kill()
		case <-over:
		}
	})
	defer func() { _ = inst.Kill() }()
	sp.user = environ.Config(inst).User
	out, err := s.runCommand(newVM(inst), sp)
	if err == nil {
		v.prove()
	}
	return out, err
}

func (m *machine) runSpec(req *runRequest) (*spec, error) {
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
		op: op, image: true, argv: req.Command, env: environ.Overlay(runEnv(), env), dir: valueOr(req.Workdir, "/"),
		timeout: req.Timeout, late: "\ncontainer timed out after %dms",
	}, nil
}
