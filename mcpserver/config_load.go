package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/smol-machines/smol-go/internal/private"
)

// maxConfigFile is the most bytes that a configuration file may have.
const maxConfigFile = 1 << 20

// ConfigError says which setting is wrong and what would be right. It never holds the value.
type ConfigError struct {
	// Key is the key in the file or the variable of the environment.
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
// An error is a *ConfigError.
func LoadConfig(lookup func(string) (string, bool)) (*Config, error) {
	c := DefaultConfig()
	keys := configKeys(c)
	if err := readConfigFile(keys, lookup); err != nil {
		return nil, err
	}
	for _, k := range keys {
		v, ok := lookup(k.env)
		if !ok || v == "" && !k.emptyCounts {
			continue
		}
		if err := k.value.set(v); err != nil {
			return nil, &ConfigError{Key: k.env, Problem: err.Error(), Err: err}
		}
	}
	if c.RuntimeDir == "" {
		c.RuntimeDir = defaultRuntimeDir(lookup)
	}
	return c, c.validate()
}

// validate reports settings that do not go together.
func (c *Config) validate() error {
	if c.ExecTimeout > c.MaxExecTimeout {
		return &ConfigError{Key: "execTimeoutSecs", Problem: "must not be above maxExecTimeoutSecs"}
	}
	if !filepath.IsAbs(c.RuntimeDir) {
		return &ConfigError{Key: "runtimeDir", Problem: "must be an absolute directory"}
	}
	if (c.Targets == "cloud" || c.Targets == "both") && c.CloudToken == "" {
		return &ConfigError{Key: "targets", Problem: "the cloud needs a key: set SMOL_CLOUD_TOKEN, or targets to local"}
	}
	return nil
}

func defaultRuntimeDir(lookup func(string) (string, bool)) string {
	base, _ := lookup("XDG_RUNTIME_DIR")
	if runtime.GOOS == "windows" {
		base, _ = lookup("LOCALAPPDATA")
	} else if !filepath.IsAbs(base) {
		base = ""
	}
	return private.RuntimeDir(base, os.TempDir(), os.Getuid())
}

// configFile returns the file to read, and whether it must exist.
func configFile(lookup func(string) (string, bool)) (path string, must bool) {
	if path, _ = lookup("SMOL_MCP_CONFIG"); path != "" {
		return path, true
	}
	dir, _ := lookup("XDG_CONFIG_HOME")
	if dir == "" {
		home, _ := lookup("HOME")
		if home == "" {
			return "", false
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "smol-mcp", "config.json"), false
}

func readConfigFile(keys []configKey, lookup func(string) (string, bool)) error {
	path, must := configFile(lookup)
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil
	}
	if err != nil {
		return &ConfigError{File: path, Problem: "cannot be read: " + err.Error(), Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	if err != nil {
		return &ConfigError{File: path, Problem: "cannot be read: " + err.Error(), Err: err}
	}
	if len(data) > maxConfigFile {
		return &ConfigError{File: path, Problem: fmt.Sprintf("has more than %d bytes", maxConfigFile)}
	}
	return applyConfigFile(keys, path, data)
}

func applyConfigFile(keys []configKey, path string, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil || all == nil || dec.More() {
		// The decoder's words can repeat what stands in the file.
		return &ConfigError{File: path, Problem: "is not one JSON object", Err: err}
	}
	known := map[string]configKey{}
	for _, k := range keys {
		known[k.name] = k
	}
	for name, v := range all {
		k, ok := known[name]
		if !ok {
			return &ConfigError{File: path, Key: name, Problem: "is no setting of this server"}
		}
		s, ok := configText(k.value, v)
		if !ok {
			return &ConfigError{File: path, Key: name, Problem: "must be " + string(k.value.json())}
		}
		if err := k.value.set(s); err != nil {
			return &ConfigError{File: path, Key: name, Problem: err.Error(), Err: err}
		}
	}
	return nil
}

// configText turns a value of the file into the form of the environment; ok is false if it has the wrong type.
func configText(value configValue, v any) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, value.json() == jsonString
	case json.Number:
		return v.String(), value.json() == jsonNumber
	case bool:
		return strconv.FormatBool(v), value.json() == jsonBool
	case []any:
		sep := ","
		if _, paths := value.(pathsValue); paths {
			sep = string(filepath.ListSeparator)
		}
		items := make([]string, len(v))
		for i, item := range v {
			if items[i], ok = item.(string); !ok || strings.Contains(items[i], sep) {
				return "", false
			}
		}
		return strings.Join(items, sep), value.json() == jsonList
	default:
		return "", false
	}
}
