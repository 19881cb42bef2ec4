package host_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// victim is set in the environment of a test binary that is to be a host and to be killed.
const victim = "SMOL_TEST_HOST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) == "1" {
		h, err := host.Start(&host.Options{Server: local.Options{Guest: sandbox.New(nil)}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(h.URL())
		select {}
	}
	goleak.VerifyTestMain(m)
}

// TestSweep kills a host whose machine runs; the next host ends the machine and removes what is left, and nothing else.
func TestSweep(t *testing.T) {
	simtest.Sandbox(t)
	tmp, err := os.MkdirTemp("", "t") // short, for the sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	t.Setenv("TMPDIR", tmp)
	lives := start(t, script.New(programs), false)
	boot(t, lives, "m")
	kept := start(t, script.New(programs), false)
	if err := kept.Stop(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(tmp, "smolhostile")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), victim+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	url = strings.TrimSpace(url)
	if err != nil || !strings.HasPrefix(url, "unix://") {
		t.Fatalf("%q, %v", url, err)
	}
	dead := &remote{url: url}
	boot(t, dead, "m")
	_, pid := state(t, dead, "m")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	dir := filepath.Dir(strings.TrimPrefix(url, "unix://"))
	for _, name := range []string{dir, fmt.Sprint("/proc/", pid)} {
		if _, err := os.Stat(name); err != nil {
			t.Fatalf("a host that was killed has left nothing to sweep: %v", err)
		}
	}

	// A call that made a machine for itself was cut off as well.
	vms, err := filepath.Glob(filepath.Join(dir, "data", "vms", "*"))
	if err != nil || len(vms) != 1 {
		t.Fatal(vms, err)
	}
	scratch, err := sandbox.New(nil).Boot(t.Context(), &sim.Boot{Dir: filepath.Join(vms[0], "scratch-1"), Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = scratch.Kill() })

	start(t, script.New(nil), false)
	select {
	case <-scratch.Done():
	case <-time.After(20 * time.Second):
		t.Error("the machine of a call is left")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
	if stat, err := os.ReadFile(fmt.Sprint("/proc/", pid, "/stat")); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the machine is left: %s", stat)
	}
	for _, name := range []string{kept.Dir(), foreign} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("what was not left by a host that was killed is gone: %v", err)
		}
	}
	echo(t, lives, "m")
}

// remote is a host in another process.
type remote struct{ url string }

func (r *remote) URL() string { return r.url }
