//go:build linux || darwin

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// TestTokensStay starts a service that does not come up but writes down its environment, and reads all that is said of it.
func TestTokensStay(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(runDir(t))
	dump, smolvm := filepath.Join(dir, "environment"), filepath.Join(dir, "smolvm")
	script := fmt.Sprintf("#!/bin/sh\nexport -p >>'%s'\necho \"$@\" >>'%s'\necho 'no hypervisor here' >&2\n[ \"$1\" = --version ] && echo 'smolvm 1.14.5' && echo 'hypervisor: none' && exit\nexit 3\n", dump, dump)
	if err := writeProgram(smolvm, []byte(script)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t, "smol-mcp"), "--log-level=debug")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "SMOL_MCP_RUNTIME_DIR=" + filepath.Join(dir, "run"), "SMOLVM=" + smolvm,
		"SMOLVM_GUEST_ROLLOUT_HOST_PORT=" + simtest.FreePort(t), "SMOL_CLOUD_TOKEN=" + canary, "SMOL_MCP_AUTH_TOKEN=" + canary, "SMOL_CLOUD_URL=http://127.0.0.1:9",
	}
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list-machines","arguments":{"target":"local"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list-machines","arguments":{"target":"cloud"}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"smol://targets"}}`,
	}, "\n"))
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if n := strings.Count(stdout.String(), "\n"); n != 4 || !strings.Contains(stdout.String(), "LOCAL_UNAVAILABLE: ") || !strings.Contains(stdout.String(), "UNAVAILABLE: ") {
		t.Errorf("the %d answers are\n%s", n, stdout.String())
	}
	environment, err := os.ReadFile(dump)
	if err != nil || !strings.Contains(string(environment), "serve start") {
		t.Fatalf("the service was not started: %v\n%s\n%s", err, environment, stdout.String())
	}
	for what, text := range map[string]string{"an answer": stdout.String(), "the log": stderr.String(), "the environment of a child": string(environment)} {
		if strings.Contains(text, canary) {
			t.Errorf("%s has the token:\n%s", what, text)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), canary) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
