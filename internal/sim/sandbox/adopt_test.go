//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/sandbox"
)

func TestAdopt(t *testing.T) {
	g := sandboxGuest(t)
	m := boot(t, sim.Boot{Image: "golang"})
	other, err := g.Adopt(t.Context(), m.dir)
	if err != nil {
		t.Fatal(err)
	}
	if other.PID() != m.PID() || other.Console() != m.Console() {
		t.Errorf("process %d and console %q, want %d and %q", other.PID(), other.Console(), m.PID(), m.Console())
	}
	if got, want := fmt.Sprint(other.(sim.Configured).Config()), fmt.Sprint(m.Instance.(sim.Configured).Config()); got != want {
		t.Errorf("configuration %s, want %s", got, want)
	}
	m.write("/tmp/f", "shared")
	if got := (&machine{Instance: other, t: t}).read("/tmp/f"); got != "shared" {
		t.Errorf("file %q", got)
	}
	if err := other.Kill(); err != nil {
		t.Fatal(err)
	}
	<-m.Done()
	<-other.Done()
	if err := syscall.Kill(m.PID(), 0); err != syscall.ESRCH {
		t.Errorf("process 1 after Kill: %v", err)
	}
}

func TestAdoptNothing(t *testing.T) {
	g := sandboxGuest(t)
	dead := boot(t, sim.Boot{})
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"no name":        "",
		"no directory":   "/nonexistent/dir",
		"empty":          t.TempDir(),
		"a dead machine": dead.dir,
	} {
		if m, err := g.Adopt(t.Context(), dir); !errors.Is(err, sim.ErrNotRunning) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Adopt(cancelled, boot(t, sim.Boot{}).dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A machine that answers although the directory is about another boot is not the one that was asked for.
func TestAdoptChecksTheBoot(t *testing.T) {
	g := sandboxGuest(t)
	m := boot(t, sim.Boot{})
	file := filepath.Join(m.dir, "boot_id")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("00000000-0000-4000-8000-000000000000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if other, err := g.Adopt(t.Context(), m.dir); err == nil || !strings.Contains(err.Error(), "00000000") {
		t.Errorf("adopted %v, %v", other, err)
	}
}

// The process that made a machine is killed without a word; the machine and what is not tied to it go on.
func TestMachineOutlivesItsMaker(t *testing.T) {
	g := sandboxGuest(t)
	dir := filepath.Join(t.TempDir(), "m")
	maker := helper(t, "boot and wait", dir)
	out, err := maker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := maker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	maker.Wait()

	adopted, err := g.Adopt(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{Instance: adopted, t: t}
	defer g.Remove(dir)
	defer m.Kill()
	if got := fmt.Sprintln(m.PID()); got != line {
		t.Errorf("process %s, its maker said %s", got, line)
	}
	if session, err := unix.Getsid(m.PID()); session != m.PID() || err != nil {
		t.Errorf("session %d of process %d, %v: it would get the signals of its maker's terminal", session, m.PID(), err)
	}
	eventually(t, "the tied command is dead", func() bool { return m.shell("pgrep -fxc 'sleep 1001' || true") == "0" })
	if got := m.shell("hostname; pgrep -fxc 'sleep 1002'"); got != "left\n1" {
		t.Errorf("after its maker was killed: %q", got)
	}
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	if !ended(m) {
		t.Error("a machine that was killed is not done")
	}
}

func TestDoneWhenKilledFromOutside(t *testing.T) {
	g := sandboxGuest(t)
	m := boot(t, sim.Boot{})
	other, err := g.Adopt(t.Context(), m.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(m.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-m.Done()
	<-other.Done()
	assertNoMachine(t, m.dir)
	if _, _, err := other.ReadFile("/etc/hosts"); !errors.Is(err, sim.ErrNotRunning) {
		t.Errorf("read from a machine that is gone: %v", err)
	}
	again := boot(t, sim.Boot{Dir: m.dir})
	if err := m.Kill(); err != nil {
		t.Errorf("second end of the first boot: %v", err)
	}
	if again.shell("echo alive") != "alive" {
		t.Error("the end of one boot ended another")
	}
}

func TestRelease(t *testing.T) {
	g := sandboxGuest(t)
	m := boot(t, sim.Boot{})
	other, err := g.Adopt(t.Context(), m.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	tied, err := other.Start(t.Context(), &sim.Command{Argv: []string{"sleep", "1000"}, Stdout: &out, Tied: true, WaitOutput: -1})
	if err != nil {
		t.Fatal(err)
	}
	free, err := other.Start(t.Context(), &sim.Command{Argv: []string{"sleep", "2000"}, Stdout: &out, WaitOutput: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	if err := other.Release(); err != nil {
		t.Errorf("second Release: %v", err)
	}
	for _, p := range []sim.Process{tied, free} {
		if code, err := p.Wait(); err == nil || code == 0 {
			t.Errorf("wait after Release: %d, %v", code, err)
		}
	}
	if _, err := other.Start(t.Context(), &sim.Command{Argv: []string{"true"}}); err == nil {
		t.Error("start after Release")
	}
	if err := other.Kill(); err == nil {
		t.Error("kill after Release")
	}
	eventually(t, "the tied command is dead", func() bool { return m.shell("pgrep -fxc 'sleep 1000' || true") == "0" })
	if got := m.shell("pgrep -fxc 'sleep 2000'"); got != "1" {
		t.Errorf("%q commands go on", got)
	}
}

// Whatever is said to the agent, it goes on.
func TestAgentSurvivesHostileInput(t *testing.T) {
	m := boot(t, sim.Boot{})
	frame := func(text string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	}
	for _, input := range [][]byte{
		{},
		{0},
		{0, 0, 0, 0},
		{255, 255, 255, 255},
		binary.BigEndian.AppendUint32(nil, sandbox.MaxFrame+1),
		binary.BigEndian.AppendUint32(nil, 100),
		frame("null"),
		frame("[]"),
		frame(`{"Op":`),
		frame(`{}`),
		frame(`{"Op":"nonsense"}`),
		frame(`{"Op":"start"}`),
		frame(`{"Op":"start","Start":{}}`),
		frame(`{"Op":"start","Start":{"Argv":["AA=="]}}`),
		frame(`{"Op":"start","Start":{"Argv":["dHJ1ZQ=="],"Streams":[1,1,1]}}`),
		frame(`{"Op":"start","Start":{"Argv":["dHJ1ZQ=="],"Streams":[3,9,-1]}}`),
		frame(`{"Op":"signal","ID":18446744073709551615,"Signal":9}`),
		frame(`{"Op":"signal","ID":0,"Signal":-9}`),
		frame(`{"Op":"kill","ID":1,"Reach":77}`),
		frame(`{"Op":"read"}`),
		frame(`{"Op":"read","Path":"AA=="}`),
		frame(`{"Op":"write"}`),
		frame(`{"Op":"write","Path":"AA=="}`),
		frame(`{"Op":"commit"}`),
		frame(`{"Op":"dial","Port":-1}`),
		frame(`{"Op":"dial","Port":99999999}`),
		frame(`{"Op":"thaw"}`),
		frame(strings.Repeat(" ", 1<<20)),
		frame(strings.Repeat("[", 1<<20)),
	} {
		c, err := sandbox.DialAgent(m.dir)
		if err != nil {
			t.Fatalf("before %.40q: %v", input, err)
		}
		c.Write(input)
		c.CloseWrite()
		io.Copy(io.Discard, c)
		c.Close()
	}
	// More descriptors than any message has, and none of them stays open.
	for range 100 {
		c, err := sandbox.DialAgent(m.dir)
		if err != nil {
			t.Fatal(err)
		}
		c.WriteMsgUnix(frame(`{"Op":"hello"}`), unix.UnixRights(0, 1, 2, 0, 1, 2, 0, 1), nil)
		io.Copy(io.Discard, c)
		c.Close()
	}
	if got := m.shell("ls /proc/1/fd | wc -l"); len(got) > 2 || got > "30" {
		t.Errorf("process 1 has %s descriptors", got)
	}
}
