package mcpserver_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/mcpserver"
)

// impossible has, for each key, values in the form of the environment that it cannot have. A key that is not here fails the test.
func impossible(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := "/" + strings.Repeat("long", 50)
	numbers := []string{"-1", "1.5", "1e3", "many", "99999999999999999999", "0x10"}
	secs := append([]string{"99999999999"}, numbers...)
	positive := append([]string{"0"}, secs...)
	words := []string{"moon", "Both", "local,cloud"}
	return map[string][]string{
		"smolvm":                {"a\nb", "a\x00b", "a\xffb", dir},
		"minSmolvm":             {"1", "1.14", "new", "1.14.99999999999999999999", "v1.14.0"},
		"localUrl":              {"x", "https://127.0.0.1:1", "http://example.com:1", "http://127.0.0.1", "http://127.0.0.1:99999", "unix://", "unix://" + long, "ftp://127.0.0.1:1", "a\nb"},
		"runtimeDir":            {"run", ".", long, plain, "/a\nb"},
		"mountRoots":            {"a", filepath.Join(dir, "none"), plain, dir + string(filepath.ListSeparator) + "a"},
		"caFile":                {filepath.Join(dir, "none"), plain, dir, os.DevNull, "a\nb"},
		"machinePrefix":         {"a/b-", "mcp", "-", "..-", "a--", strings.Repeat("x", 64) + "-"},
		"memoryMb":              append([]string{"0", "63", "1048577"}, numbers...),
		"cpus":                  append([]string{"0", "256"}, numbers...),
		"networkDefault":        words,
		"runOnceNetwork":        words,
		"ephemeralTtlSecs":      append([]string{"59"}, positive...),
		"ephemeralAutoStopSecs": append([]string{"59"}, positive...),
		"execTimeoutSecs":       append([]string{"901"}, positive...), // which is above maxExecTimeoutSecs
		"maxExecTimeoutSecs":    append([]string{"119"}, positive...), // which is below execTimeoutSecs
		"waitSecs":              secs,
		"maxOutputBytes":        append([]string{"0", "1023", "99999999"}, numbers...),
		"readyTimeoutSecs":      positive,
		"serveStartTimeoutSecs": positive,
		"logsTail":              append([]string{"0", "10001"}, numbers...),
		"logsPollSecs":          positive,
		"cloudUrl":              {"x", "http://example.com", "ftp://example.com", "https://", "https://u:p@example.com", "https://example.com/v1", "https://example.com?x", "a b"},
		"cloudToken":            {"a b", "ä", "a\n", strings.Repeat("x", 17<<10)},
		"targets":               append([]string{"cloud", "both"}, words...), // for which there is no key
		"httpHost":              {"127.0.0.1:80", "http://a", "a b", "[::1]", "a/b", ".."},
		"httpPort":              append([]string{"65536"}, numbers...),
		"httpPath":              {"mcp", "/a b", "/a?b", "/a\nb"},
		"httpSessionIdleSecs":   positive,
		"httpAllowedHosts":      {"http://a", "a b", "a/b", "a:b", "a,b c"},
		"httpAllowedOrigins":    {"example.com", "https://a/b", "https://", "*"},
		"authToken":             {"a b", "ä", "a\n", strings.Repeat("x", 17<<10)},
		"toolsets":              {"all", ",", "core,all"},
		"readOnly":              {"maybe", "yes", "2"},
	}
}

// TestConfigKeys gives each key what it cannot have, in the environment and in the file. The error names where it stood and says what would be right.
func TestConfigKeys(t *testing.T) {
	t.Parallel()
	all := impossible(t)
	refused := func(key, file, value string, err error) {
		t.Helper()
		var ce *mcpserver.ConfigError
		switch {
		case !errors.As(err, &ce):
			t.Errorf("%s takes %.80q: %v", key, value, err)
		case ce.Key != key || file != filepath.Base(ce.File) && file != ce.File || len(ce.Problem) < 10:
			t.Errorf("%s, %.80q: %+v", key, value, ce)
		}
	}
	for _, s := range mcpserver.Settings() {
		if len(all[s.Name]) == 0 {
			t.Errorf("nothing impossible is known for %s; add a row to the test", s.Name)
		}
		for _, value := range all[s.Name] {
			_, err := load(t, "", map[string]string{s.Env: value})
			refused(s.Env, "", value, err)
			if text, ok := fileValue(s.Type, value); ok {
				_, err := load(t, `{"`+s.Name+`": `+text+`}`, nil)
				refused(s.Name, "config.json", value, err)
			}
		}
		for _, value := range []string{"null", "{}", `"x"`, "1", "true", `["x", 1]`} {
			if !strings.HasPrefix(value, map[string]string{"a string": `"`, "a number": "1", "true or false": "true", "a list of strings": "none"}[s.Type]) {
				_, err := load(t, `{"`+s.Name+`": `+value+`}`, nil)
				refused(s.Name, "config.json", value, err)
			}
		}
	}
}

// fileValue turns a value of the environment into one of the file, if it is of the right type and one item.
func fileValue(typ, value string) (string, bool) {
	text, err := json.Marshal(value)
	switch typ {
	case "a string":
		return string(text), err == nil && !strings.Contains(string(text), `\ufffd`)
	case "a list of strings":
		return "[" + string(text) + "]", err == nil && !strings.ContainsAny(value, ",:;")
	default:
		return value, json.Valid([]byte(value)) // and some are of another type
	}
}

// TestConfigTogether names the setting that was set, of two that do not go together, where it was set.
func TestConfigTogether(t *testing.T) {
	t.Parallel()
	_, err := load(t, `{"execTimeoutSecs": 901}`, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "config.json: execTimeoutSecs: must not be above maxExecTimeoutSecs, which is 900; raise that too") {
		t.Error(err)
	}
	_, err = load(t, `{"maxExecTimeoutSecs": 60}`, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "config.json: maxExecTimeoutSecs: must not be below execTimeoutSecs, which is 120; set that too") {
		t.Error(err)
	}
	if _, err := load(t, `{"maxExecTimeoutSecs": 60, "execTimeoutSecs": 60}`, nil); err != nil {
		t.Error(err)
	}
}

// TestConfigFileIsOneObject has files that are no single object, and where that shows.
func TestConfigFileIsOneObject(t *testing.T) {
	t.Parallel()
	for file, at := range map[string]string{
		"{}}": "line 1, column 3", "{\"cpus\": 2}\n}\n": "line 2, column 1", "{} x": "line 1, column 4", "{}{}": "line 1, column 3", "{\n  \"cpus\": 2,\n}": "line 3, column 1",
		"{\"cpus\": 2]": "line 1, column 11", "{\"cpus\" 2}": "line 1, column 9", "{": "line 1, column 1", " ": "line 1, column 1", "\ufeff{}": "line 1, column 1", "[]": "in braces", "null": "in braces", "2": "in braces",
	} {
		_, err := load(t, file, nil)
		var ce *mcpserver.ConfigError
		if !errors.As(err, &ce) || filepath.Base(ce.File) != "config.json" || ce.Key != "" || !strings.HasSuffix(ce.Problem, at) {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, err := load(t, " \n{\"cpus\": 2}\n\n", nil); err != nil {
		t.Error(err)
	}
}

// TestConfigDefaultRuntimeDir ignores an XDG_RUNTIME_DIR that is not absolute, and an XDG_CONFIG_HOME.
func TestConfigDefaultRuntimeDir(t *testing.T) {
	t.Parallel()
	base := "/run"
	if runtime.GOOS == "windows" {
		base = t.TempDir()
	}
	for xdg, want := range map[string]string{"run": "smol-mcp-", "": "smol-mcp-", base: "smol-mcp"} {
		c, err := load(t, "", map[string]string{"XDG_RUNTIME_DIR": xdg, "LOCALAPPDATA": xdg, "XDG_CONFIG_HOME": "etc", "HOME": "home"})
		if err != nil || !filepath.IsAbs(c.RuntimeDir) || !strings.HasPrefix(filepath.Base(c.RuntimeDir), want) {
			t.Errorf("%q: %v, %v", xdg, c, err)
		}
	}
}
