package guest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/rounds"
)

// leaves is a command that leaves children in its group, in a session of their own, and without the mark.
const leaves = `echo partial; sleep 601 & setsid sh -c 'sleep 602 & sleep 603' & env -u SMOL_JOB sleep 604 & sleep 605`

func TestDeadline(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, wait := range []time.Duration{0, 300 * time.Millisecond, patience} {
			s := m.job("sh", "-c", leaves)
			s.Timeout, s.View.Wait = 1500*time.Millisecond, wait
			m.start(s)
			r := m.want(m.poll(s.ID, whole), guest.TimedOut, 124)
			if got := string(r.Stdout.Data); got != "partial\n" {
				t.Errorf("stdout %q", got)
			}
			if took := r.Ended - r.Started; took < s.Timeout {
				t.Errorf("ended after %v of %v", took, s.Timeout)
			}
			for _, c := range m.commands() {
				if strings.Contains(c, "sleep 60") {
					t.Errorf("left: %q", c)
				}
			}
			m.quiet()
		}
	})
}

func TestDeadlineThatIsNotReached(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, wait := range []time.Duration{0, 300 * time.Millisecond, patience} {
			s := m.job("sh", "-c", "sleep 0.5; echo done; exit 137")
			s.Timeout, s.View.Wait = time.Hour, wait
			m.start(s)
			m.want(m.poll(s.ID, whole), guest.Exited, 137)
			m.quiet()
		}
	})
}

// A deadline that is over before the command has begun ends it all the same.
func TestDeadlineAtOnce(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for range rounds.Soak(3, 100) {
			s := m.job("sh", "-c", "sleep 601 & sleep 602")
			s.Timeout = time.Nanosecond
			m.run(s, guest.TimedOut, 124)
		}
		m.quiet()
	})
}

// A command that kills our sleep is not ended early for it, nor late.
func TestDeadlineWithoutItsSleep(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "while :; do killall sleep || pkill -x sleep; sleep 0.02; done 2>/dev/null")
		s.Timeout, s.View.Wait = 2*time.Second, 0
		m.start(s)
		r := m.want(m.poll(s.ID, whole), guest.TimedOut, 124)
		if took := r.Ended - r.Started; took < s.Timeout {
			t.Errorf("ended after %v of %v", took, s.Timeout)
		}
		m.quiet()
	})
}

func TestDeadlineOfAStoppedCommand(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "kill -STOP $$; echo went on")
		s.Timeout, s.View.Wait = time.Second, 0
		m.start(s)
		if r := m.want(m.poll(s.ID, whole), guest.TimedOut, 124); r.StdoutSize != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// hide takes a program away.
func (m *machine) hide(program string) {
	m.t.Helper()
	if out := m.sh("mount --bind /dev/null $(command -v " + program + ") 2>&1; command -v " + program); out != "" {
		m.t.Fatalf("%s cannot be hidden: %s", program, out)
	}
}

// Not every sleep knows fractions of a second: what we wait for then takes whole ones.
func TestSleepWithoutFractions(t *testing.T) {
	onShells(t, []string{"dash", "bash"}, func(t *testing.T, m *machine) {
		if out := m.sh(`cp /usr/bin/sleep /workspace/sleep
			printf '#!/bin/sh\ncase $1 in *.*) echo >>/workspace/refused; exit 1; esac\nexec /workspace/sleep "$@"\n' >/workspace/whole
			chmod +x /workspace/whole; mount --bind /workspace/whole /usr/bin/sleep; sleep 0.1 || echo refused`); out != "refused" {
			t.Fatalf("sleep cannot be replaced: %s", out)
		}
		m.run(m.job("sh", "-c", "exit 3"), guest.Exited, 3)
		s := m.job("sh", "-c", "echo go; sleep 600")
		s.Timeout = 1500 * time.Millisecond
		r := m.run(s, guest.TimedOut, 124)
		if took := r.Ended - r.Started; took < s.Timeout {
			t.Errorf("ended after %v of %v", took, s.Timeout)
		}
		s = m.job("sh", "-c", "echo go; sleep 600")
		m.background(s)
		if r := m.poll(s.ID, snapshot(300*time.Millisecond)); r.State != guest.Running {
			t.Errorf("%+v", r)
		}
		m.want(m.signal(s.ID, "KILL"), guest.Signaled, 137)
		m.quiet()
		if n := strings.Count(m.sh("cat /workspace/refused; echo"), "\n"); n > 50 {
			t.Errorf("a sleep was tried %d times", n)
		}
	})
}

// The shell of busybox has its own setsid, whatever the file system says.
func TestWithoutSetsid(t *testing.T) {
	onShells(t, []string{"dash", "bash"}, func(t *testing.T, m *machine) {
		m.hide("setsid")
		const script = "sleep 601 & (sleep 602; :) & echo go; sleep 603"
		late := m.job("sh", "-c", script)
		late.Timeout = time.Second
		if r := m.run(late, guest.TimedOut, 124); string(r.Stdout.Data) != "go\n" {
			t.Errorf("deadline: %+v", r)
		}
		m.quiet()

		s := m.job("sh", "-c", script)
		m.background(s)
		m.want(m.signal(s.ID, "KILL"), guest.Signaled, 137)
		m.quiet()

		s = m.job("sh", "-c", "trap 'echo trapped; exit 5' INT; echo go; while :; do sleep 0.05; done")
		m.background(s)
		m.signal(s.ID, "INT")
		r := m.want(m.poll(s.ID, whole), guest.Exited, 5)
		if got := string(r.Stdout.Data); got != "go\ntrapped\n" {
			t.Errorf("interrupt: %q", got)
		}
		m.run(m.job("sh", "-c", "exit 3"), guest.Exited, 3)
	})
}
