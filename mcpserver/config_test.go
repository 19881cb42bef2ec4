package mcpserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/mcpserver"
)

// load loads a configuration from a file's text, "" for no file, and an environment.
func load(t *testing.T, file string, env map[string]string) (*mcpserver.Config, error) {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"XDG_CONFIG_HOME": dir, "XDG_RUNTIME_DIR": "/run", "LOCALAPPDATA": dir} // dir is too long for a socket on some systems
	for k, v := range env {
		all[k] = v
	}
	if file != "" {
		if err := os.MkdirAll(filepath.Join(dir, "smol-mcp"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "smol-mcp", "config.json"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return mcpserver.LoadConfig(func(name string) (string, bool) { v, ok := all[name]; return v, ok })
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	got, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(got.RuntimeDir) != "smol-mcp" {
		t.Errorf("the runtime directory is %s", got.RuntimeDir)
	}
	got.RuntimeDir = ""
	want := &mcpserver.Config{
		Smolvm: "smolvm", MinSmolvm: "1.14.0", MachinePrefix: "mcp-", MemoryMiB: 2048, CPUs: 2, NetworkDefault: "blocked", RunOnceNetwork: "blocked",
		EphemeralTTL: time.Hour, EphemeralAutoStop: 15 * time.Minute, ExecTimeout: 2 * time.Minute, MaxExecTimeout: 15 * time.Minute,
		Wait: 45 * time.Second, MaxOutputBytes: 65536, ReadyTimeout: 2 * time.Minute, ServeStartTimeout: time.Minute, LogsTail: 100,
		LogsPoll: 2 * time.Second, CloudURL: "https://api.smolmachines.com", Targets: "auto", HTTPHost: "127.0.0.1", HTTPPort: 8080,
		HTTPPath: "/mcp", HTTPSessionIdle: 30 * time.Minute, Toolsets: []string{"core", "jobs"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfigPrecedence(t *testing.T) {
	t.Parallel()
	file := `{"cpus": 3, "memoryMb": 512, "readOnly": true, "toolsets": ["jobs"], "minSmolvm": "1.15.0", "cloudToken": "t"}`
	got, err := load(t, file, map[string]string{"SMOL_MCP_CPUS": "5", "SMOL_MCP_MEMORY_MB": "", "SMOL_MCP_MIN_SMOLVM": "", "SMOL_MCP_WAIT_SECS": "0"})
	if err != nil {
		t.Fatal(err)
	}
	if got.CPUs != 5 || got.MemoryMiB != 512 || !got.ReadOnly || got.MinSmolvm != "" || got.Wait != 0 || got.CloudToken != "t" ||
		!cmp.Equal(got.Toolsets, []string{"jobs"}) {
		t.Errorf("got %v", got)
	}
}

func TestConfigRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		env        map[string]string
		key        string
	}{
		{"unknown key", `{"cpu": 2}`, nil, "cpu"},
		{"key of another case", `{"CPUs": 2}`, nil, "CPUs"},
		{"string for number", `{"cpus": "2"}`, nil, "cpus"},
		{"number for string", `{"smolvm": 2}`, nil, "smolvm"},
		{"fraction", `{"cpus": 1.5}`, nil, "cpus"},
		{"null", `{"cpus": null}`, nil, "cpus"},
		{"string for list", `{"toolsets": "core"}`, nil, "toolsets"},
		{"list of numbers", `{"toolsets": [1]}`, nil, "toolsets"},
		{"unknown toolset", `{"toolsets": ["all"]}`, nil, "toolsets"},
		{"no toolset", `{"toolsets": []}`, nil, "toolsets"},
		{"relative root", `{"mountRoots": ["a"]}`, nil, "mountRoots"},
		{"word", "", map[string]string{"SMOL_MCP_TARGETS": "moon"}, "SMOL_MCP_TARGETS"},
		{"zero", "", map[string]string{"SMOL_MCP_CPUS": "0"}, "SMOL_MCP_CPUS"},
		{"huge", "", map[string]string{"SMOL_MCP_EXEC_TIMEOUT_SECS": "99999999999999999999"}, "SMOL_MCP_EXEC_TIMEOUT_SECS"},
		{"bool", "", map[string]string{"SMOL_MCP_READ_ONLY": "maybe"}, "SMOL_MCP_READ_ONLY"},
		{"prefix", "", map[string]string{"SMOL_MCP_MACHINE_PREFIX": "a/b-"}, "SMOL_MCP_MACHINE_PREFIX"},
		{"path", "", map[string]string{"SMOL_MCP_HTTP_PATH": "mcp"}, "SMOL_MCP_HTTP_PATH"},
		{"release", "", map[string]string{"SMOL_MCP_MIN_SMOLVM": "new"}, "SMOL_MCP_MIN_SMOLVM"},
		{"no file", "", map[string]string{"SMOL_MCP_CONFIG": filepath.Join(os.TempDir(), "not", "there.json")}, "SMOL_MCP_CONFIG"},
		{"no readable file", "", map[string]string{"SMOL_MCP_CONFIG": os.TempDir()}, "SMOL_MCP_CONFIG"},
	}
	for _, tt := range tests {
		_, err := load(t, tt.file, tt.env)
		var ce *mcpserver.ConfigError
		if !errors.As(err, &ce) || ce.Key != tt.key {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestConfigHidesTokens puts a secret where it belongs and where it does not, and looks for it in all that can be printed.
func TestConfigHidesTokens(t *testing.T) {
	t.Parallel()
	const secret = "smk_s3cret"
	c, err := load(t, "", map[string]string{"SMOL_CLOUD_TOKEN": secret, "SMOL_MCP_AUTH_TOKEN": secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{c.String(), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), c.LogValue().String()} {
		if strings.Contains(text, secret) {
			t.Errorf("a token is in %s", text)
		}
	}
	for _, s := range mcpserver.Settings() {
		for _, value := range []string{secret, secret + "\n", "http://" + secret + "@"} {
			if _, err := load(t, "", map[string]string{s.Env: value}); err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", s.Env, err)
			}
		}
	}
	if _, err := load(t, `{"cpus": "`+secret+`"`, nil); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("file: %v", err)
	}
}

func TestConfigMountRoots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	list := strings.Join([]string{dir, sub + "/../sub", ""}, string(filepath.ListSeparator))
	c, err := load(t, "", map[string]string{"SMOL_MCP_MOUNT_ROOTS": list})
	if err != nil || !cmp.Equal(c.MountRoots, []string{dir, sub}) {
		t.Errorf("got %v, %v", c, err)
	}
}

// TestMisconfigured has configurations that LoadConfig would not return, or not any more.
func TestMisconfigured(t *testing.T) {
	t.Parallel()
	c := mcpserver.DefaultConfig()
	c.Targets, c.LocalURL = "local", "https://example.com"
	if _, err := mcpserver.New(&mcpserver.Options{Config: c}); err == nil || !strings.Contains(err.Error(), "localUrl") || strings.Contains(err.Error(), "Options") {
		t.Errorf("localUrl: %v", err)
	}
	file := filepath.Join(t.TempDir(), "gone")
	s := serve(t, func(o *mcpserver.Options) {
		o.Config.Targets, o.Config.CloudToken, o.Config.CAFile = "cloud", "token", file
	})
	text := connect(t, s.Server, nil).fails(mcpserver.CodeUnavailable, "list-machines", nil)
	if !strings.Contains(text, "caFile cannot be read") || strings.Contains(text, "Options") {
		t.Errorf("caFile: %s", text)
	}
}
