package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smol-machines/smol-go/internal/version"
)

// endBound is how long the end of a machine, and that of the server, may take.
const endBound = 20 * time.Second

// start starts this program once more as a server, and connects to it as an agent does. The function that it returns ends the server.
func (d *demo) start(ctx context.Context, p *program, o *options) (stop func() error, err error) {
	if _, set := o.settings["SMOL_MCP_TARGETS"]; !set {
		o.settings["SMOL_MCP_TARGETS"] = "local"
	}
	cfg, err := o.config(p)
	if err != nil {
		return nil, err
	}
	if cfg.Targets != "local" && cfg.Targets != "cloud" {
		return nil, &usageError{"the demo is for one fleet: --targets local or --targets cloud"}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	remove := func() error { return nil }
	where := cfg.Targets
	if cfg.Targets == "local" {
		where = "local, " + cfg.Smolvm
		if cfg.LocalURL != "" {
			where = "local, " + cfg.LocalURL
		} else if _, err := exec.LookPath(cfg.Smolvm); err != nil {
			sim, err := findSimulator(self, cfg.Smolvm)
			if err != nil {
				return nil, err
			}
			if remove, err = o.simulate(sim); err != nil {
				return nil, err
			}
			where = "local, " + sim + ", since " + cfg.Smolvm + " is not installed"
		}
	}
	level := o.logLevel
	if level == slog.LevelInfo {
		level = slog.LevelWarn // a line for each call is what the demo prints itself
	}
	cmd := exec.Command(self, "stdio", "--log-level", level.String())
	cmd.Env, cmd.Stderr = os.Environ(), p.stderr
	for name, value := range o.settings {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	fmt.Fprintf(d.out, "the fleet: %s\n", where)
	impl := &mcp.Implementation{Name: "smol-mcp demo", Version: version.String()}
	d.session, err = mcp.NewClient(impl, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: endBound}, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server: %w", err), remove())
	}
	stop = func() error { return errors.Join(d.session.Close(), remove()) }
	tools, err := d.session.ListTools(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	init := d.session.InitializeResult()
	d.say("connect", "%s %s, protocol %s, %d tools", init.ServerInfo.Name, init.ServerInfo.Version, init.ProtocolVersion, len(tools.Tools))
	return stop, nil
}

// findSimulator returns the stand-in of smolvm beside this program, or on the PATH.
func findSimulator(self, smolvm string) (string, error) {
	name := "smolsim"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("neither %s nor its stand-in smolsim is installed: go install github.com/smol-machines/smol-go/cmd/smolsim@latest gives you the latter", smolvm)
}

// simulate makes sim the program that serves machines, with files and a port of its own, so that it does not meet another.
func (o *options) simulate(sim string) (remove func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "smol") // short, for the socket in it
	if err != nil {
		return nil, err
	}
	o.settings["SMOLVM"] = sim
	o.settings["SMOL_MCP_RUNTIME_DIR"] = filepath.Join(dir, "run")
	o.settings["SMOLVM_DATA_DIR"] = filepath.Join(dir, "data")
	o.settings["SMOLVM_GUEST_ROLLOUT_HOST_PORT"] = strconv.Itoa(port)
	return func() error { return os.RemoveAll(dir) }, nil
}
