package mcpserver

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/envname"
	"github.com/smol-machines/smol-go/smol"
)

// commandArgs are the arguments of a command.
type commandArgs struct {
	Command     command           `json:"command" jsonschema:"a string for sh -c, or argv"`
	TimeoutSecs int               `json:"timeoutSecs,omitempty" jsonschema:"killed after"`
	Workdir     string            `json:"workdir,omitempty" jsonschema:"absolute; default: the image's"`
	Env         map[string]string `json:"env,omitempty" jsonschema:"added to the machine's"`
	Stdin       string            `json:"stdin,omitempty" jsonschema:"default: none"`
}

// commandArgs completes the schema. The ceiling of the time-out is not in it: too long has a code of its own.
func (s set) commandArgs(cfg *Config) set {
	return s.def("timeoutSecs", int(cfg.ExecTimeout/time.Second)).least("timeoutSecs", 1).text("workdir")
}

// timeout returns when the command is killed.
func (in commandArgs) timeout(cfg *Config) (time.Duration, error) {
	ceiling := int(cfg.MaxExecTimeout / time.Second)
	if in.TimeoutSecs > ceiling {
		return 0, fail(CodeTimeoutTooLong, "timeoutSecs is %d; the ceiling is %d", in.TimeoutSecs, ceiling).
			hint("Run it in the background of the machine (nohup ... &) and look at its files, or split it.")
	}
	return time.Duration(in.TimeoutSecs) * time.Second, nil
}

// environ returns the environment as the library takes it, sorted.
func (in commandArgs) environ() ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		if err := envname.Check(name); err != nil {
			return nil, fail(CodeInvalid, "argument env has %v", err)
		}
		out = append(out, name+"="+in.Env[name])
	}
	return out, nil
}

// cmd returns the command in m.
func (in commandArgs) cmd(cfg *Config, m *smol.Machine) (*smol.Cmd, error) {
	timeout, err := in.timeout(cfg)
	if err != nil {
		return nil, err
	}
	env, err := in.environ()
	if err != nil {
		return nil, err
	}
	if len(in.Command.argv) == 0 {
		return nil, fail(CodeInvalid, "argument command is empty")
	}
	c := m.Command(in.Command.argv[0], in.Command.argv[1:]...)
	c.Env, c.Dir, c.Timeout = env, in.Workdir, timeout
	if in.Stdin != "" {
		c.Stdin = strings.NewReader(in.Stdin)
	}
	return c, nil
}
