package main_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	main "github.com/smol-machines/smol-go/cmd/smol-mcp"
)

// TestFlags runs the program with flags and settings that end it before it serves anybody, and one that serves nobody.
func TestFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		args           []string
		env            map[string]string
		code           int
		stdout, stderr string
	}{
		{"help", []string{"--help"}, nil, 0, "-read-only", ""},
		{"help of a command", []string{"stdio", "-h"}, nil, 0, "SMOL_MCP_TARGETS", ""},
		{"version", []string{"--version"}, nil, 0, "smol-mcp ", ""},
		{"no such command", []string{"serve"}, nil, 2, "", `"serve"`},
		{"no such flag", []string{"--what"}, nil, 2, "", "what"},
		{"argument", []string{"stdio", "x"}, nil, 2, "", `"x"`},
		{"wrong level", []string{"--log-level", "loud"}, nil, 2, "", "log-level"},
		{"wrong setting", nil, map[string]string{"SMOL_MCP_CPUS": "many"}, 2, "", "smol-mcp: SMOL_MCP_CPUS: must be "},
		{"wrong address", nil, map[string]string{"SMOL_LOCAL_URL": "https://example.com"}, 2, "", "smol-mcp: SMOL_LOCAL_URL: must be "},
		{"wrong file", []string{"--config", "none.json"}, nil, 2, "", "smol-mcp: -config: names a file that "},
		{"wrong targets", []string{"--targets", "moon"}, nil, 2, "", "smol-mcp: -targets: must be "},
		{"wrong toolsets", []string{"--toolsets", "all"}, nil, 2, "", "smol-mcp: -toolsets: must name "},
		{"wrong smolvm", []string{"--smolvm", "/"}, nil, 2, "", "smol-mcp: -smolvm: is a directory; name "},
		{"wrong local-url", []string{"--local-url", "https://example.com"}, map[string]string{"SMOL_LOCAL_URL": "x"}, 2, "", "smol-mcp: -local-url: must be "},
		{"wrong runtime-dir", []string{"--runtime-dir", "run"}, nil, 2, "", "smol-mcp: -runtime-dir: must be "},
		{"wrong read-only", []string{"--read-only=maybe"}, nil, 2, "", "-read-only"},
		{"wrong flags together", []string{"--targets", "cloud"}, nil, 2, "", "smol-mcp: -targets: the cloud needs a key: set SMOL_CLOUD_TOKEN"},
		{"a flag wins", []string{"--targets", "local"}, map[string]string{"SMOL_MCP_TARGETS": "moon"}, 0, "", ""},
		{"end of input", nil, nil, 0, "", ""},
	}
	if runtime.GOOS != "windows" { // where there are no sockets, and XDG_RUNTIME_DIR means nothing
		row := tests[0]
		row.name, row.args, row.code, row.stdout, row.stderr = "wrong default", nil, 2, "", "smol-mcp: SMOL_MCP_RUNTIME_DIR: is not set, "
		row.env = map[string]string{"SMOL_MCP_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": "/" + strings.Repeat("x", 200)}
		tests = append(tests, row)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"SMOL_MCP_RUNTIME_DIR": runDir(t), "XDG_CONFIG_HOME": t.TempDir()}
			for k, v := range tt.env {
				env[k] = v
			}
			lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
			var stdout, stderr bytes.Buffer
			code := main.Run(t.Context(), tt.args, lookup, io.NopCloser(strings.NewReader("")), &stdout, &stderr)
			if code != tt.code {
				t.Errorf("exit code %d, not %d: %s", code, tt.code, stderr.String())
			}
			if !strings.Contains(stdout.String(), tt.stdout) || tt.stdout == "" && stdout.Len() > 0 {
				t.Errorf("standard output: %q", stdout.String())
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("standard error: %q", stderr.String())
			}
		})
	}
}
