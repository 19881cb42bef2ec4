package cloud

import (
	"context"
	"fmt"
	"os"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/environ"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

// runBackground starts a command that nobody waits for.
func (s *Server) runBackground(v *vm, sp *spec, output string) (*execResponse, error) {
	p, err := v.inst.Start(context.WithoutCancel(s.tasks.Context()), &sim.Command{Argv: sp.argv, Env: sp.env, Dir: sp.dir, User: sp.user})
	if err != nil {
		text, err := sp.notStarted(err)
		return s.outcome(sp, output, codeNotFound, nil, []byte(text), 0), err
	}
	task.Reap(p)
	return s.outcome(sp, output, 0, fmt.Appendf(nil, "pid=%d\n", p.PID()), nil, 0), nil
}

// workload launches what the machine is for: its own command, or the image's. A failure is only logged.
func (m *machine) workload(v *vm, rec *record) {
	conf := environ.Config(v.inst)
	argv := rec.Command
	if len(argv) == 0 {
		argv = conf.Argv
	}
	if len(argv) == 0 {
		return
	}
	cmd := &sim.Command{Argv: argv, Env: m.s.environment(v, rec), Dir: valueOr(rec.Workdir, conf.Dir), User: conf.User}
	log, err := os.OpenFile(m.s.store.Console(rec.ID), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		cmd.Stdout, cmd.Stderr = log, log
	}
	p, err := v.inst.Start(m.s.tasks.Context(), cmd)
	if err != nil {
		_ = log.Close() // nil is none
		m.s.o.Log.Warn("workload not launched", "machine", m.id, "err", err)
		_ = m.update(func(r *record) { r.note(m.s, "warn", "workload not launched: %v", err) })
		return
	}
	go func() {
		_, _ = p.Wait()
		_ = log.Close()
	}()
}
