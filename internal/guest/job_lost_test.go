package guest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// tree returns the process and everything below it.
func (m *machine) tree(pid int) []string {
	m.t.Helper()
	children := map[string][]string{}
	for line := range strings.Lines(m.sh(`for p in /proc/[0-9]*; do read -r s <$p/stat && set -- ${s##*) } && echo ${p#/proc/} $2; done 2>/dev/null`)) {
		if child, parent, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			children[parent] = append(children[parent], child)
		}
	}
	all := []string{itoa(pid)}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// A service ends the processes of an exec when its caller vanishes or it is restarted itself: by their group or by their tree.
func TestJobOutlivesItsExec(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, timeout := range []time.Duration{0, time.Hour} {
			s := m.job("sh", "-c", "echo go; while ! [ -e /workspace/on ]; do sleep 0.05; done; echo more; exit 3")
			s.Timeout = timeout
			argv, _, err := s.Command()
			if err != nil {
				t.Fatal(err)
			}
			p, _ := m.begin(argv)
			m.eventually("the start", func() bool {
				r, err := m.tryPoll(s.ID, snapshot(0))
				return err == nil && string(r.Stdout.Data) == "go\n"
			})
			// What stands between them was killed, which takes the kernel a moment.
			keeper := strings.Fields(m.keepers(s))
			m.eventually("the keeper to stand alone", func() bool {
				return !slices.ContainsFunc(m.tree(p.PID()), func(pid string) bool { return slices.Contains(keeper, pid) })
			})
			m.sh("kill -9 " + strings.Join(m.tree(p.PID()), " ") + " -" + itoa(p.PID()) + " 2>&1")
			if code, err := p.Wait(); code != 137 || err != nil {
				t.Fatalf("the exec: %d, %v", code, err)
			}
			if r := m.poll(s.ID, snapshot(0)); r.State != guest.Running {
				t.Fatalf("%+v", r)
			}
			m.sh(": >/workspace/on")
			r := m.want(m.poll(s.ID, whole), guest.Exited, 3)
			if got := string(r.Stdout.Data); got != "go\nmore\n" {
				t.Errorf("stdout %q", got)
			}
			m.sh("rm /workspace/on")
			m.quiet()
		}
	})
}

// snapshot returns everything after a wait.
func snapshot(wait time.Duration) guest.View { return guest.View{Wait: wait, Budget: 1 << 20} }

// keepers returns the pids of the keepers of a job.
func (m *machine) keepers(s *guest.Start) string {
	return m.sh(`for p in /proc/[0-9]*; do case $(tr '\0' ' ' <$p/cmdline) in *"smol-job ` + s.ID + ` "*) echo ${p#/proc/};; esac; done 2>/dev/null`)
}

// lost waits until the job is lost: what was killed may take a moment to die.
func (m *machine) lost(s *guest.Start) (r *guest.Reply) {
	m.t.Helper()
	m.eventually("the loss", func() bool {
		r = m.poll(s.ID, snapshot(0))
		return r.State == guest.Lost
	})
	return r
}

func TestLostKeeper(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo go; exec sleep 601")
		m.background(s)
		m.sh("kill -9 " + m.keepers(s))
		r := m.lost(s)
		if string(r.Stdout.Data) != "go\n" || r.Started == 0 || r.Ended < r.Started {
			t.Errorf("%+v", r)
		}
		if got := m.commands(); len(got) != 1 || !strings.HasPrefix(got[0], "sleep 601") {
			t.Errorf("running: %q", got)
		}
		m.want(m.signal(s.ID, "KILL"), guest.Lost, 0)
		m.quiet()
		m.want(m.start(s), guest.Lost, 0)
	})
}

// A pid that is another process by now is neither the keeper nor what a signal is for.
func TestRecycledPIDs(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo go; exec sleep 601")
		m.background(s)
		m.sh("kill -9 " + m.keepers(s))
		m.lost(s)
		other := m.job("sh", "-c", "echo go; exec sleep 602")
		m.background(other)
		m.sh("cd /workspace/.smol; { read -r a; read -r b; read -r c; } <" + other.ID + ".job; printf '%s\n' $a $c $c >" + s.ID + ".job")
		m.want(m.poll(s.ID, snapshot(0)), guest.Lost, 0)
		for _, name := range []string{"TERM", "KILL"} {
			m.want(m.signal(s.ID, name), guest.Lost, 0)
		}
		if r := m.poll(other.ID, snapshot(0)); r.State != guest.Running {
			t.Errorf("the other: %+v", r)
		}
		m.signal(other.ID, "KILL")
		m.quiet()
	})
}

// The deadline is watched by a process of its own.
func TestDeadlineOfALostKeeper(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo go; sleep 601 & exec sleep 602")
		s.Timeout = 2 * time.Second
		m.background(s)
		m.sh("{ read -r _; read -r p; } <" + guest.BaseWorkspace + "/" + s.ID + ".job; kill -9 $p")
		m.lost(s)
		m.quiet()
	})
}

func TestRestartedMachine(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		done := m.job("sh", "-c", "echo done")
		m.run(done, guest.Exited, 0)
		s := m.job("sh", "-c", "echo go; exec sleep 601")
		m.background(s)
		m.restart()
		if r := m.want(m.poll(s.ID, whole), guest.Lost, 0); string(r.Stdout.Data) != "go\n" {
			t.Errorf("%+v", r)
		}
		if r := m.want(m.poll(done.ID, whole), guest.Exited, 0); string(r.Stdout.Data) != "done\n" {
			t.Errorf("%+v", r)
		}
		m.want(m.signal(s.ID, "KILL"), guest.Lost, 0)
		m.run(m.job("true"), guest.Exited, 0)
	})
}

func TestFrozenMachine(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo go; sleep 1; exit 4")
		m.background(s)
		if err := m.Freeze(); err != nil {
			t.Fatal(err)
		}
		if err := m.Thaw(); err != nil {
			t.Fatal(err)
		}
		m.want(m.poll(s.ID, whole), guest.Exited, 4)
	})
}
