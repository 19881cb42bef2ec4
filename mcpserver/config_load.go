package mcpserver

import (
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/smol-machines/smol-go/internal/private"
)

// ConfigError says which setting is wrong and what would be right. It never holds the value.
type ConfigError struct {
	// Key is the key in the file, the variable of the environment, or, of smol-mcp, the flag.
	Key string
	// File is the file that it stands in; empty for the environment.
	File string
	// Problem says what would be right.
	Problem string
	// Err is the cause, if there is one.
	Err error
}

// Error returns "file: key: problem" without the parts that are not there.
func (e *ConfigError) Error() string {
	s := e.Problem
	if e.Key != "" {
		s = e.Key + ": " + s
	}
	if e.File != "" {
		s = e.File + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// LoadConfig returns the configuration that the environment and the file ask for, read through lookup, which is os.LookupEnv as a
// rule. A variable that is empty is as if unset, but for SMOL_MCP_MIN_SMOLVM, where it means that every release is accepted.
//
//  1. the environment;
//  2. the file that SMOL_MCP_CONFIG names, which then must exist, or else smol-mcp/config.json in XDG_CONFIG_HOME (default: ~/.config);
//  3. the default.
//
// What is impossible is refused, also where it does not count. Directories and files that a setting names are looked at. An error is a
// *ConfigError.
func LoadConfig(lookup func(string) (string, bool)) (*Config, error) {
	c := DefaultConfig()
	l := &loader{keys: configKeys(c), from: map[string]ConfigError{}}
	if err := l.file(lookup); err != nil {
		return nil, err
	}
	for _, k := range l.keys {
		v, ok := lookup(k.env)
		if !ok || v == "" && !k.emptyCounts {
			continue
		}
		if err := l.set(k, v, ConfigError{Key: k.env}); err != nil {
			return nil, err
		}
	}
	if c.RuntimeDir == "" {
		c.RuntimeDir = defaultRuntimeDir(lookup)
		if err := isRuntimeDir(c.RuntimeDir); err != nil {
			return nil, l.wrong("runtimeDir", "is not set, and the default, below XDG_RUNTIME_DIR or the directory for temporary files, %v", err)
		}
	}
	if err := l.together(c); err != nil {
		return nil, err
	}
	return c, nil
}

// loader sets the keys and knows what set them.
type loader struct {
	keys []configKey
	from map[string]ConfigError // by name: the key and the file of what was set
}

func (l *loader) set(k configKey, value string, from ConfigError) error {
	if err := k.value.set(value); err != nil {
		from.Problem, from.Err = err.Error(), err
		return &from
	}
	l.from[k.name] = from
	return nil
}

// wrong returns the error of a setting, with the name under which it was set; one that was not, would be as a variable.
func (l *loader) wrong(name, format string, args ...any) error {
	e, set := l.from[name]
	if !set {
		e.Key = l.keys[slices.IndexFunc(l.keys, func(k configKey) bool { return k.name == name })].env
	}
	e.Problem = fmt.Sprintf(format, args...)
	return &e
}

// together reports settings that do not go together.
func (l *loader) together(c *Config) error {
	if c.ExecTimeout > c.MaxExecTimeout {
		if _, set := l.from["execTimeoutSecs"]; !set {
			return l.wrong("maxExecTimeoutSecs", "must not be below execTimeoutSecs, which is %s; set that too", seconds(c.ExecTimeout))
		}
		return l.wrong("execTimeoutSecs", "must not be above maxExecTimeoutSecs, which is %s; raise that too", seconds(c.MaxExecTimeout))
	}
	if (c.Targets == "cloud" || c.Targets == "both") && c.CloudToken == "" {
		return l.wrong("targets", "the cloud needs a key: set SMOL_CLOUD_TOKEN, or targets to local")
	}
	return nil
}

func defaultRuntimeDir(lookup func(string) (string, bool)) string {
	base, _ := lookup("XDG_RUNTIME_DIR")
	if runtime.GOOS == "windows" {
		base, _ = lookup("LOCALAPPDATA")
	}
	return private.RuntimeDir(base, os.TempDir(), os.Getuid())
}
