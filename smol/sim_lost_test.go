package smol_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

const execPath = "/api/v1/machines/*/exec"

// TestSimReplyLost: whatever the service does with the reply, the command runs once and its output is had.
func TestSimReplyLost(t *testing.T) {
	faults := map[string]smoltest.Fault{
		"lost":                    {Action: smoltest.LoseReply},
		"cut":                     {Action: smoltest.Cut, After: 30},
		"garbled":                 {Action: smoltest.Garble},
		"500 after the work":      {Action: smoltest.Fail, Work: true},
		"500 without the work":    {Action: smoltest.Fail},
		"408 after the work":      {Action: smoltest.Fail, Status: 408, Work: true},
		"a proxy's page":          {Action: smoltest.Fail, Status: 502, ContentType: "text/html", Body: "<html>"},
		"restart":                 {Action: smoltest.Restart},
		"restart after the work":  {Action: smoltest.Restart, Work: true},
		"two lost after the work": {Action: smoltest.LoseReply, Times: 2},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _, m := simMachine(t, smol.Spec{Image: "busybox"})
			fault.Method, fault.Path, fault.Nth = "POST", execPath, 1
			armed := l.Fault(fault)
			out, err := m.Shell("echo run >>/workspace/count; echo out").Output(t.Context())
			if err != nil || string(out) != "out\n" {
				t.Errorf("got %q and %v", out, err)
			}
			if armed.Fired() == 0 {
				t.Error("the fault did not happen")
			}
			count, err := m.Command("cat", "/workspace/count").Output(t.Context())
			if err != nil || string(count) != "run\n" {
				t.Errorf("the command ran %d times (%v)", strings.Count(string(count), "run"), err)
			}
		})
	}
}

// TestSimServerAway: a command outlives the service that started it, and is found by the next one.
func TestSimServerAway(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, l *smoltest.Local, m *smol.Machine) {
		c := m.Shell("echo $$; until [ -e /workspace/go ]; do sleep 0.1; done; echo end >/workspace/end; exit 3")
		started(t, t.Context(), c)
		l.Kill()
		l.Restart()
		other := l.Service(t).Machine(m.Name())
		if err := other.Command("touch", "/workspace/go").Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		var exit *smol.ExitError
		if !errors.As(err, &exit) || exit.Code != 3 {
			t.Errorf("got %v", err)
		}
		if n := l.Reboots(m.Name()); n != 0 {
			t.Errorf("rebooted %d times", n)
		}
	})
}

// TestSimMachineStops: the command dies with the machine, and nobody boots it again.
func TestSimMachineStops(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	c := m.Shell("echo $$; exec sleep 1000")
	started(t, t.Context(), c)
	if err := m.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var state *smol.StateError
	if err := c.Wait(); !errors.As(err, &state) || state.Got != smol.StateStopped {
		t.Errorf("got %v", err)
	}
	info, err := m.Info(t.Context())
	if err != nil || info.State != smol.StateStopped {
		t.Errorf("the machine is %s (%v)", info.State, err)
	}
	// A stopped machine is started by run, and has kept its disk and its environment.
	if out, err := m.Command("echo", "again").Output(t.Context()); err != nil || string(out) != "again\n" {
		t.Errorf("got %q and %v", out, err)
	}
}

// TestSimMachineReboots: a command of the boot before is lost, and said to be.
func TestSimMachineReboots(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	r := make(chan error, 1)
	c := m.Shell("echo $$; exec sleep 1000")
	started(t, t.Context(), c)
	go func() { r <- c.Wait() }()
	if err := m.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	err := <-r
	if !errors.Is(err, smol.ErrUnavailable) && !errors.Is(err, smol.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if m.WaitReady(t.Context(), &smol.WaitOptions{Timeout: time.Minute}) != nil {
		t.Error("the machine is not ready")
	}
}

// TestSimWithoutShell: commands run over the fleet's own wire, and say so.
func TestSimWithoutShell(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "noshell", Env: map[string]string{"A": "1"}})
	c := m.Command("/bin/env")
	out, err := c.Output(t.Context())
	if err != nil && !strings.Contains(err.Error(), "not found") {
		t.Logf("no env in the image: %q and %v", out, err)
	}
	c = m.Command("nothing-of-that-name")
	err = c.Run(t.Context())
	var exit *smol.ExitError
	if !errors.As(err, &exit) || c.State == nil || c.State.Missing == "" {
		t.Errorf("got %v and %+v", err, c.State)
	}
	c = m.Command("nothing-of-that-name")
	c.Stdin = strings.NewReader("x")
	if err := c.Run(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("with input: got %v", err)
	}
}
