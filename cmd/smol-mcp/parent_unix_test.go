//go:build linux || darwin

package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestParentKilled kills the parent of a server that has a machine. The server ends, and takes its machine along.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	if parent := os.Getenv("SMOL_TEST_PARENT"); parent != "" {
		beParent(parent)
	}
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: guests()})
	fleet := l.Service(t).Fleet
	parent := exec.Command(os.Args[0], "-test.run=^TestParentKilled$")
	parent.Env = append(os.Environ(), "SMOL_TEST_PARENT="+program(t, "smol-mcp"), "SMOL_LOCAL_URL="+l.URL(), "SMOL_MCP_TARGETS=local", "SMOL_MCP_RUNTIME_DIR="+runDir(t))
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	var pid int
	if _, e := fmt.Sscanf(line, "%d", &pid); e != nil {
		t.Fatalf("%v: %q", err, line)
	}
	if n := count(t, fleet); n != 1 {
		t.Errorf("there are %d machines before", n)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	for end := time.Now().Add(30 * time.Second); syscall.Kill(pid, 0) == nil && !isZombie(pid); {
		if time.Now().After(end) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the server outlives its parent")
		}
		<-time.After(5 * time.Millisecond)
	}
	if n := count(t, fleet); n != 0 {
		t.Errorf("there are %d machines after", n)
	}
}

// isZombie reports whether the process has ended and nobody has asked how, as where orphans have no parent that does.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func count(t *testing.T, f *smol.Fleet) int {
	t.Helper()
	n := 0
	for _, err := range f.List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// beParent starts the server as an agent does, makes it work, says which process it is, and waits to be killed.
func beParent(bin string) {
	cmd := exec.Command(bin, "--log-level=error")
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create-machine","arguments":{"image":"alpine","network":"open","name":"mcp-orphan"}}}
`)
	lines := bufio.NewReader(out)
	for range 2 {
		if _, err := lines.ReadString('\n'); err != nil {
			panic(err)
		}
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}
