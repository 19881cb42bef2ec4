package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxConfigFile is the most bytes that a configuration file may have.
const maxConfigFile = 1 << 20

// configFile returns the file to read, and whether it must exist.
func configFile(lookup func(string) (string, bool)) (path string, must bool) {
	if path, _ = lookup("SMOL_MCP_CONFIG"); path != "" {
		return path, true
	}
	dir, _ := lookup("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // a relative one is ignored, as the XDG specification says
		home, _ := lookup("HOME")
		if !filepath.IsAbs(home) {
			return "", false
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "smol-mcp", "config.json"), false
}

// file reads the file and sets what it says.
func (l *loader) file(lookup func(string) (string, bool)) error {
	path, must := configFile(lookup)
	if path == "" {
		return nil
	}
	data, err := readConfigFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !must:
		return nil
	case err != nil && must:
		return &ConfigError{Key: "SMOL_MCP_CONFIG", Problem: fmt.Sprintf("names a file that cannot be read: %v; name another, or none", causeOf(err)), Err: err}
	case err != nil:
		return &ConfigError{File: path, Problem: fmt.Sprintf("cannot be read: %v; remove it, or let it be read", causeOf(err)), Err: err}
	case len(data) > maxConfigFile:
		return &ConfigError{File: path, Problem: fmt.Sprintf("has more than %d bytes", maxConfigFile)}
	}
	all, err := configObject(path, data)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		from := ConfigError{File: path, Key: name}
		i := slices.IndexFunc(l.keys, func(k configKey) bool { return k.name == name })
		if i < 0 {
			from.Key, from.Problem = clip(name, 64), "is no setting of this server; remove it"
			return &from
		}
		s, ok := configText(l.keys[i].value, all[name])
		if !ok {
			from.Problem = "must be " + string(l.keys[i].value.json())
			return &from
		}
		if err := l.set(l.keys[i], s, from); err != nil {
			return err
		}
	}
	return nil
}

// readConfigFile returns the file, or so much of it that it shows to be too long.
func readConfigFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConfigFile+1))
}

// configObject returns the object that is all of a file. The decoder's own words are not used: they can repeat what stands in the file.
func configObject(path string, data []byte) (map[string]any, error) {
	var all map[string]json.RawMessage
	err := json.Unmarshal(data, &all)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at := int(syntax.Offset) - 1 // of the byte that was one too many, or the last
		before := data[:max(at, 0)]
		line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
		return nil, &ConfigError{File: path, Problem: fmt.Sprintf("must be one JSON object and nothing else; it is wrong at line %d, column %d", line, column), Err: err}
	case err != nil || all == nil:
		return nil, &ConfigError{File: path, Problem: "must be one JSON object, in braces", Err: err}
	}
	out := make(map[string]any, len(all))
	for name, raw := range all {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, &ConfigError{File: path, Key: clip(name, 64), Problem: "cannot be read", Err: err}
		}
		out[name] = v
	}
	return out, nil
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
