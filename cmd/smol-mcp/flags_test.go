package main_test

import (
	"bytes"
	"io"
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
		{"wrong flag", []string{"--targets", "moon"}, nil, 2, "", "SMOL_MCP_TARGETS"},
		{"wrong setting", nil, map[string]string{"SMOL_MCP_CPUS": "many"}, 2, "", "SMOL_MCP_CPUS"},
		{"a flag wins", []string{"--targets", "local"}, map[string]string{"SMOL_MCP_TARGETS": "moon"}, 0, "", ""},
		{"end of input", nil, nil, 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"SMOL_MCP_RUNTIME_DIR": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
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
