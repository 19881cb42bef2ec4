//go:build linux

package main_test

import (
	"bufio"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// TestRunSignals sends signals to smolsim alone, as a supervisor does that knows only its child, and to its process group, as shells do and timeout. The
// command gets each once. While a signal is sent to the group smolsim stands still until the command has seen it, so that a second one
// would not be taken for the first.
func TestRunSignals(t *testing.T) {
	simtest.Sandbox(t)
	dir, env := tmp(t)
	sent := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	sent = slices.DeleteFunc(sent, func(s syscall.Signal) bool { return signal.Ignored(s) }) // HUP, if the tests themselves run under nohup
	script := "trap 'echo flushed' USR1; trap 'echo over; exit 5' USR2; "
	for _, s := range sent {
		script += fmt.Sprintf("trap 'echo %d' %d; ", s, s)
	}
	cmd := command(t, env, "run", "--", "sh", "-c", script+"echo ready; while :; do sleep 0.05; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, lines := cmd.Process.Pid, bufio.NewScanner(out)
	kill := func(pid int, s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	says := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the command says %q, not %q", lines.Text(), want)
		}
	}
	says("ready")
	for _, s := range sent {
		kill(pid, s)
		says(strconv.Itoa(int(s)))
		kill(pid, syscall.SIGSTOP)
		kill(-pid, s)
		says(strconv.Itoa(int(s)))
		kill(pid, syscall.SIGCONT)
		kill(pid, syscall.SIGUSR1) // which smolsim may see before the other
		says("flushed")
	}
	kill(pid, syscall.SIGUSR2)
	says("over")
	_ = cmd.Wait() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("exit %d", code)
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left in the temporary directory: %v", names)
	}
}

// TestRunIgnores starts smolsim as nohup does, and as shells start what is to run in the background.
func TestRunIgnores(t *testing.T) {
	simtest.Sandbox(t)
	_, env := tmp(t)
	run := command(t, env, "run", "--", "sh", "-c", "kill -INT $$; kill -HUP $$; echo still here")
	cmd := command(t, env)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap '' HUP INT; exec "$@"`, "sh"}, run.Args...)
	if out, err := cmd.CombinedOutput(); string(out) != "still here\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}
