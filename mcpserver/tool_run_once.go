package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/smol-machines/smol-go/smol"
)

type runOnceArgs struct {
	Image string `json:"image"`
	commandArgs
	sizeArgs
	egressArgs
}

type runOnceResult struct {
	commandResult
	Machine string `json:"machine" jsonschema:"deleted already"`
}

// onceMargin is what the wait for a command gets beyond its time-out, so that its end is seen.
const onceMargin = 30 * time.Second

// deleteBound is how long run-once tries to delete its machine, also after the call was cancelled.
const deleteBound = 30 * time.Second

func runOnce(cfg *Config) *definition {
	return briefOverflow(define(about{
		name: "run-once", title: "Run once", toolset: "core",
		description: "Create a machine, run one command in it, return its output and exit code, and delete the machine whatever happens; on cloud it is billed meanwhile. " +
			"For several steps, long work, or to read files afterwards, use create-machine and run-command. Waits for the pull, for the boot, at most " + seconds(cfg.ReadyTimeout) + " s, and until the command ends or timeoutSecs (at most " + seconds(cfg.MaxExecTimeout) + ") kills it. " +
			"Returns what run-command does, never running and with overflow empty: of each stream " + bytesText(cfg.MaxOutputBytes) + " come back, the beginning and the end; the rest is lost. " +
			"Locally a pull may need egress.",
		hints: hints{openWorld: true},
	}, func(s set) {
		s.text("image").commandArgs(cfg).size(cfg).egress(cfg.RunOnceNetwork)
	}, runRunOnce))
}

func runRunOnce(ctx context.Context, c *call, in runOnceArgs) (res *runOnceResult, err error) {
	name := c.ephemeralName()
	// What is wrong with the command shows before there is a machine.
	cmd, err := in.cmd(c.config(), c.fleet.Machine(name))
	if err != nil {
		return nil, err
	}
	spec := &smol.Spec{
		Name: name, Image: in.Image, Network: in.network(), Resources: smol.Resources{CPUs: in.CPUs, MemoryMiB: in.MemoryMB},
	}
	claim, err := c.server.keeper.expect(ctx, c.session, c.target, spec.Name)
	if err != nil {
		return nil, err
	}
	c.server.keeper.spec(c.session, c.target, spec)
	m, err := c.fleet.Create(ctx, *spec, &smol.CreateOptions{ReadyTimeout: c.config().ReadyTimeout})
	claim.settle(m, err)
	if err != nil {
		return nil, c.uncreated(ctx, spec, err)
	}
	defer func() {
		if del := c.discard(ctx, m, spec.Name); del != nil {
			c.server.log.Warn("a machine could not be deleted; the end of the session tries again", "machine", spec.Name, "error", del)
		}
	}()
	out, err := c.run(ctx, m, in.commandArgs, cmd.Timeout+onceMargin)
	if err != nil {
		return nil, goneWith(ctx, err)
	}
	res = &runOnceResult{commandResult: *out, Machine: spec.Name}
	res.Job, res.Overflow, res.StartedMachine = nil, []overflowResult{}, false
	if res.Truncated {
		res.Hint = "Some output was left out and is lost. create-machine and run-command keep all of it in a file."
	}
	return res, nil
}

// goneWith returns the error of a command whose machine goes with it, without the job that could be polled otherwise.
func goneWith(ctx context.Context, err error) error {
	var te *ToolError
	if !errors.As(err, &te) || te.Err == nil {
		return err
	}
	e := *toToolError(ctx, te.Err)
	e.Hint = "The machine is deleted, and the command with it."
	return &e
}

// discard deletes the machine of a call, also when that was cancelled.
func (c *call) discard(ctx context.Context, m *smol.Machine, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteBound)
	defer cancel()
	if err := m.Delete(ctx, nil); err != nil && !isNotFound(err) {
		return err
	}
	c.server.keeper.forget(c.target, name)
	return nil
}
