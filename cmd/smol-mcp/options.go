package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/mcpserver"
)

// options are the flags. What a flag sets wins over the environment.
type options struct {
	version  bool
	logLevel slog.Level
	settings map[string]string // by variable of the environment
	flags    map[string]string // which were used, by variable too
}

// newOptions returns the flags with their defaults.
func newOptions() (*options, *flag.FlagSet) {
	o := &options{settings: map[string]string{}, flags: map[string]string{}}
	f := flag.NewFlagSet("smol-mcp", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least `level` that is logged to standard error: debug, info, warn, error")
	o.setting(f, "config", "SMOL_MCP_CONFIG", "configuration `file`")
	o.setting(f, "targets", "SMOL_MCP_TARGETS", "`fleets` to serve: local, cloud, both, auto")
	o.setting(f, "toolsets", "SMOL_MCP_TOOLSETS", "`groups` of tools to list, with commas between")
	o.setting(f, "smolvm", "SMOLVM", "smolvm `program`")
	o.setting(f, "local-url", "SMOL_LOCAL_URL", "`address` where a local service is looked for first")
	o.setting(f, "runtime-dir", "SMOL_MCP_RUNTIME_DIR", "`directory` of socket, record and log")
	f.BoolFunc("read-only", "list only tools that change nothing", func(s string) error {
		if _, err := strconv.ParseBool(s); err != nil {
			return err
		}
		o.set("read-only", "SMOL_MCP_READ_ONLY", s)
		return nil
	})
	return o, f
}

// setting adds a flag that stands for a variable of the environment.
func (o *options) setting(f *flag.FlagSet, name, env, usage string) {
	f.Func(name, usage+" ("+env+")", func(s string) error {
		o.set(name, env, s)
		return nil
	})
}

func (o *options) set(name, env, value string) { o.settings[env], o.flags[env] = value, "-"+name }

// config loads the configuration, with the flags over the environment. An error names the flag if the value is that of one.
func (o *options) config(p *program) (*mcpserver.Config, error) {
	cfg, err := mcpserver.LoadConfig(func(name string) (string, bool) {
		if v, ok := o.settings[name]; ok {
			return v, true
		}
		return p.lookup(name)
	})
	var wrong *mcpserver.ConfigError
	if errors.As(err, &wrong) && wrong.File == "" && o.flags[wrong.Key] != "" {
		named := *wrong
		named.Key = o.flags[wrong.Key]
		return nil, &named
	}
	return cfg, err
}

// logger returns the log, which goes to standard error: standard output belongs to the protocol.
func (o *options) logger(p *program) *slog.Logger {
	return slog.New(slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: o.logLevel}))
}

// help prints what the program can do.
func (p *program) help(f *flag.FlagSet) {
	var b strings.Builder
	b.WriteString("smol-mcp gives an AI agent virtual machines over the Model Context Protocol.\n\nUsage: smol-mcp [command] [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.help)
	}
	b.WriteString("\nFlags:\n")
	f.SetOutput(&b)
	f.PrintDefaults()
	b.WriteString("\nThe environment, and a file, set the rest; a flag wins over both.\n")
	fmt.Fprint(p.stdout, b.String())
}
