package guest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

func TestSignalEndsCommand(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for name, number := range map[string]int{"INT": 2, "TERM": 15, "KILL": 9, "HUP": 1, "QUIT": 3, "USR1": 10, "USR2": 12} {
			s := m.job("sh", "-c", "echo go; exec sleep 600")
			m.background(s)
			m.signal(s.ID, name)
			m.want(m.poll(s.ID, whole), guest.Signaled, 128+number)
		}
		m.quiet()
	})
}

// A shell leaves what it starts with & deaf to SIGINT; the command must not be.
func TestInterruptIsNotIgnored(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, signal := range []string{"INT", "QUIT"} {
			s := m.job("sh", "-c", "trap 'echo trapped; exit 5' "+signal+"; echo go; while :; do sleep 0.05; done")
			m.background(s)
			m.signal(s.ID, signal)
			r := m.want(m.poll(s.ID, whole), guest.Exited, 5)
			if got := string(r.Stdout.Data); got != "go\ntrapped\n" {
				t.Errorf("%s: stdout %q", signal, got)
			}
		}
		// Signals 32 and above are the C library's: make starts its recipes with two of them ignored, and nobody sends them.
		for line := range strings.Lines(m.output("grep SigIgn /proc/self/status; grep SigBlk /proc/self/status; true")) {
			mask, err := strconv.ParseUint(strings.TrimSpace(line[len("SigIgn:"):]), 16, 64)
			if err != nil || mask&(1<<31-1) != 0 {
				t.Errorf("ignored or blocked: %q, %v", line, err)
			}
		}
	})
}

func TestSignalOfTheCommandsOwn(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "trap : USR1; echo go; while ! [ -e /workspace/on ]; do sleep 0.05; done; kill -KILL $$")
		m.background(s)
		if r := m.signal(s.ID, "USR1"); r.State != guest.Running {
			t.Errorf("after a signal that is caught: %+v", r)
		}
		m.sh(": >/workspace/on")
		// Not ours, although a signal was sent.
		m.want(m.poll(s.ID, whole), guest.Exited, 137)
	})
}

func TestStopAndContinue(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		state := func(s *guest.Start) string {
			return m.sh("read -r _ < " + guest.BaseWorkspace + "/" + s.ID + ".job; { read -r _; read -r _; read -r p; } <" +
				guest.BaseWorkspace + "/" + s.ID + ".job; grep ^State /proc/$p/status")
		}
		stopped := func(s *guest.Start) {
			m.eventually("the stop", func() bool { return strings.Contains(state(s), "T (stopped)") })
		}
		for _, end := range []string{"KILL", "TERM", "CONT"} {
			s := m.job("sh", "-c", "echo go; exec sleep 600")
			m.background(s)
			if r := m.signal(s.ID, "STOP"); r.State != guest.Running {
				t.Errorf("stopped: %+v", r)
			}
			stopped(s)
			if r := m.poll(s.ID, guest.View{Wait: time.Second / 2}); r.State != guest.Running {
				t.Errorf("stopped: %+v", r)
			}
			m.signal(s.ID, end)
			if end == "CONT" {
				m.eventually("the continuation", func() bool { return !strings.Contains(state(s), "T (stopped)") })
				m.signal(s.ID, "KILL")
				end = "KILL"
			}
			m.want(m.poll(s.ID, whole), guest.Signaled, map[string]int{"KILL": 137, "TERM": 143}[end])
		}
	})
}

// KILL ends everything that the job started, also in sessions of its own, and its reply comes when that is gone.
func TestKillReachesEverything(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", `
			setsid sh -c 'setsid sleep 601 & sleep 602' &
			(trap "" TERM INT HUP; sleep 603; sleep 604) &
			env -u SMOL_JOB sleep 605 &
			echo go; sleep 606`)
		m.background(s)
		m.eventually("all of them", func() bool { return strings.Count(strings.Join(m.commands(), "\n"), "sleep 60") >= 5 })
		m.want(m.signal(s.ID, "KILL"), guest.Signaled, 137)
		if left := m.commands(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

func TestTermReachesTheGroup(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "sleep 601 & (sleep 602; :) & echo go; wait")
		m.background(s)
		m.want(m.signal(s.ID, "TERM"), guest.Signaled, 143)
		m.quiet()
	})
}

// What a finished command has left behind can still be killed by its id.
func TestKillAfterTheEnd(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "sleep 601 & setsid sleep 602 & echo left")
		m.run(s, guest.Exited, 0)
		m.eventually("both", func() bool { return strings.Count(strings.Join(m.commands(), "\n"), "sleep 60") == 2 })
		other := m.job("sh", "-c", "echo go; exec sleep 603")
		other.ID = s.ID + "-2" // begins as the other does
		m.background(other)
		m.want(m.signal(s.ID, "TERM"), guest.Exited, 0)
		if left := m.commands(); len(left) < 3 {
			t.Fatalf("TERM after the end: %q", left)
		}
		m.want(m.signal(s.ID, "KILL"), guest.Exited, 0)
		if r := m.poll(other.ID, guest.View{}); r.State != guest.Running {
			t.Errorf("the other job: %+v", r)
		}
		m.want(m.signal(other.ID, "KILL"), guest.Signaled, 137)
		m.quiet()
	})
}

// A signal that comes before the command is one still ends it, however long it takes to become one.
func TestSignalOvertakesSlowStart(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.setup(nil, "")
		m.sh("echo 'sleep 2.5' >/workspace/.smol/env") // what is stored is read just before
		for _, name := range []string{"KILL", "TERM"} {
			s := m.job("sh", "-c", "echo ran >/workspace/ran")
			s.View.Wait = 0
			m.start(s)
			m.signal(s.ID, name)
			m.want(m.poll(s.ID, whole), guest.Signaled, map[string]int{"KILL": 137, "TERM": 143}[name])
		}
		if got := m.sh("cat /workspace/ran 2>&1"); !strings.Contains(got, "No such file") {
			t.Errorf("it ran: %q", got)
		}
	})
}

// An id that was signaled before it was started is never started.
func TestSignalBeforeStart(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for name, code := range map[string]int{"KILL": 137, "TERM": 143, "STOP": 147} {
			s := m.job("sh", "-c", "echo ran >/workspace/ran")
			m.want(m.signal(s.ID, name), guest.Signaled, code)
			m.run(s, guest.Signaled, code)
			m.want(m.poll(s.ID, whole), guest.Signaled, code)
		}
		if got := m.sh("cat /workspace/ran 2>&1"); !strings.Contains(got, "No such file") {
			t.Errorf("it ran: %q", got)
		}
	})
}
