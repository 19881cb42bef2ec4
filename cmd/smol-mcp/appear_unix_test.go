//go:build linux || darwin

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// TestSmolvmAppears installs the local service after a call has failed for want of it. The next call starts it.
func TestSmolvmAppears(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	smolvm, run := filepath.Join(dir, "smolvm"), runDir(t)
	p := startProgram(t, program(t, "smol-mcp"), []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "SMOL_MCP_TARGETS=local", "SMOL_MCP_RUNTIME_DIR=" + run, "SMOLVM=" + smolvm,
		"SMOLVM_DATA_DIR=" + filepath.Join(dir, "data"), "SMOLVM_GUEST_ROLLOUT_HOST_PORT=" + simtest.FreePort(t),
	})
	p.initialize()
	list := args{"name": "list-machines", "arguments": args{}}
	for range 2 {
		res := p.result(p.ask("tools/call", list))
		text, _ := res["content"].([]any)[0].(map[string]any)["text"].(string)
		if res["isError"] != true || !strings.HasPrefix(text, "LOCAL_UNAVAILABLE: ") || !strings.Contains(text, smolvm) {
			t.Fatalf("without a service: %v", res)
		}
	}
	if err := os.Symlink(program(t, "smolsim"), smolvm); err != nil {
		t.Fatal(err)
	}
	if got := p.call("list-machines", args{})["machines"].([]any); len(got) > 0 {
		t.Errorf("a new service has %v", got)
	}
	p.in.Close()
	p.exited()
	if _, err := os.Lstat(filepath.Join(run, "api.sock")); err == nil {
		t.Error("the service that was started is left")
	}
}
