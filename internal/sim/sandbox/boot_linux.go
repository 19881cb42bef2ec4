package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/smol-machines/smol-go/internal/sim"
)

// maxConsole bounds what is kept of what a machine says while booting.
const maxConsole = 64 << 10

// Boot starts the machine, in about ten milliseconds. The context bounds the call, not the life of the machine. An error is an
// [*Error], matches [sim.ErrNoImage], or is the context's.
func (g *Guest) Boot(ctx context.Context, b *sim.Boot) (sim.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan, err := g.plan(b, newBootID())
	if err != nil {
		return nil, err
	}
	k := &booting{guest: g, config: plan}
	defer k.close()
	k.prepare(b.Dir)
	k.do("open mounts", k.openTrees)
	k.do("create process", k.create)
	p := k.process
	stop := context.AfterFunc(ctx, func() { p.signal(syscall.SIGKILL) })
	k.do("translate owners", k.mapTrees)
	k.follow()
	var m *instance
	k.do("agent", func() (err error) {
		m, err = k.instance(ctx)
		return err
	})
	if !stop() {
		k.err = ctx.Err()
	}
	if k.err == nil {
		return m, nil
	}
	if m != nil {
		m.Kill()
	}
	k.process.kill()
	return nil, k.err
}

// booting is a machine on its way.
type booting struct {
	guest *Guest
	*config
	id      identity
	state   *state
	socket  *os.File
	trees   []*os.File
	process *process1
	// input takes the configuration, report gives the console and the outcome.
	input, report *os.File
	err           error
}

// do runs a step if none has failed so far.
func (k *booting) do(step string, f func() error) {
	if k.err != nil {
		return
	}
	err := errInjected
	if k.FailAt != step {
		err = f()
	}
	if err != nil {
		k.err = k.guest.explain(step, err)
		return
	}
	k.Said += "[ host       ] " + step + "\n"
}

func (k *booting) prepare(dir string) {
	k.do("state directory", func() (err error) {
		if k.id, err = currentIdentity(); err != nil {
			return err
		}
		if dir != "" {
			if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
		k.state, err = openState(dir)
		return err
	})
	k.do("lock", func() error { return k.state.lock() })
	k.do("look for a running machine", func() error {
		c, err := k.state.dial()
		if err != nil {
			return nil // whatever that was, nobody listens there
		}
		c.Close()
		return fmt.Errorf("a machine runs in %s", dir)
	})
	k.do("prepare disks", func() error { return k.state.prepare(&k.id, k.BootID) })
	k.do("socket", func() (err error) {
		k.socket, err = k.state.listen()
		return err
	})
}

// follow hands the configuration over and reads what the machine says until it runs or has failed.
func (k *booting) follow() {
	if k.err != nil {
		return
	}
	sendErr := json.NewEncoder(k.input).Encode(k.config)
	k.input.Close()
	text, err := io.ReadAll(io.LimitReader(k.report, maxConsole))
	if f := outcome(string(text)); f != nil {
		k.err = k.guest.explain(f.Step, errors.Join(f.err(), sendErr, err))
	}
}

// outcome looks at the last line of the report. It returns nil if the machine runs.
func outcome(report string) *failure {
	report = strings.TrimSuffix(report, "\n")
	last := report[strings.LastIndexByte(report, '\n')+1:]
	if last == reportReady {
		return nil
	}
	if line, ok := strings.CutPrefix(last, reportFailed); ok {
		var f failure
		if err := json.Unmarshal([]byte(line), &f); err == nil {
			return &f
		}
	}
	return &failure{Step: "set-up", Text: fmt.Sprintf("process 1 ended without saying why; it last said %q", last)}
}

// instance makes sure that the agent answers and is the process that was made.
func (k *booting) instance(ctx context.Context) (*instance, error) {
	dir, err := openState(k.state.path)
	if err != nil {
		return nil, err
	}
	m := newInstance(dir, k.process, k.BootID)
	k.process = nil // from here on it is the instance's
	if err := m.hello(ctx); err != nil {
		m.Kill()
		return nil, err
	}
	return m, nil
}

// close closes what only booting needs.
func (k *booting) close() {
	for _, f := range append([]*os.File{k.socket, k.input, k.report}, k.trees...) {
		if f != nil {
			f.Close()
		}
	}
	if k.state != nil {
		k.state.close()
	}
}
