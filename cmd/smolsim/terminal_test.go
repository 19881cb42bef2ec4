//go:build linux

package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/smol-machines/smol-go/internal/simtest"
)

// terminal opens a new terminal: what is typed at and seen on it, and what a program has of it.
func terminal(t *testing.T) (outside, inside *os.File) {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outside.Close() })
	if err := unix.IoctlSetPointerInt(int(outside.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(outside.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inside.Close() })
	return outside, inside
}

// TestRunAtATerminal types Ctrl-C, which a terminal sends to the program and to its command. The program stands still until the command has seen
// it, so that a second one would not be taken for the first, and then gets signals that are for it alone, which the command gets last: also an interrupt.
func TestRunAtATerminal(t *testing.T) {
	simtest.Sandbox(t)
	dir, env := tmp(t)
	outside, inside := terminal(t)
	cmd := command(t, env, "run", "--", "sh", "-c",
		"trap 'echo interrupted' INT; trap 'echo waiting' USR1; trap 'echo terminated; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inside, inside, inside
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inside.Close() // so that the reading ends with the program
	var seen []string
	interrupts := 0
	for s := bufio.NewScanner(outside); s.Scan(); {
		line := strings.TrimPrefix(strings.TrimSpace(s.Text()), "^C")
		seen = append(seen, line)
		var err error
		switch line {
		case "ready":
			if err = cmd.Process.Signal(syscall.SIGSTOP); err == nil {
				_, err = outside.WriteString("\x03")
			}
		case "interrupted":
			if interrupts++; interrupts == 1 {
				err = errors.Join(cmd.Process.Signal(syscall.SIGUSR1), cmd.Process.Signal(syscall.SIGCONT))
			} else {
				err = cmd.Process.Signal(syscall.SIGTERM)
			}
		case "waiting":
			err = cmd.Process.Signal(os.Interrupt)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the code says it
	if code, got := cmd.ProcessState.ExitCode(), strings.Join(seen, " "); code != 5 || got != "ready interrupted waiting interrupted terminated" {
		t.Errorf("exit %d, %q", code, got)
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left in the temporary directory: %v", names)
	}
}
