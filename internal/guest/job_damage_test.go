package guest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// What somebody has written over the files of a job makes that job a lost one, and keeps nobody from the others.
func TestDamagedFiles(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		good := m.job("sh", "-c", "exit 3")
		m.run(good, guest.Exited, 3)
		m.sh(`cd /workspace/.smol
			i=100; for line in '' exited 'exited 0' 'exited 0 1.00' 'exited x 1.00 2.00' 'exited 0 a b' 'exited 0 1 2' 'exited 0 08.00 09.00' 'exited 0 1.00 2.00.00' \
				'exited 0 1.00 $(id)' 'exited 99999 1.00 2.00' 'exited -1 1.00 2.00' 'running - 1.00 2.00' 'exited 0 1.00 99999999999999999999.00' '* * * *'; do
				i=$((i+1)); echo 1.00 >job-$i.job; echo "$line" >job-$i.exit
			done
			for line in x 'a b' 08.00 1 '1.00 2.00' -1.00; do
				i=$((i+1)); echo "$line" >job-$i.job; printf '%63s\n' >job-$i.exit
			done
			printf 'exited 0 1.00 2.00' >job-200.exit; head -c 100 /dev/urandom >job-201.exit; mkdir job-202.exit
			for i in 200 201 202; do echo 1.00 >job-$i.job; done
			echo 1.00 >'job-not an id.job'`)
		all := m.list()
		if len(all) != 25 || all[good.ID].State != guest.Exited || all[good.ID].Code != 3 {
			t.Errorf("%d jobs; the good one: %+v", len(all), all[good.ID])
		}
		for id, l := range all {
			if id == good.ID {
				continue
			}
			if l.State != guest.Lost || l.Code != 0 {
				t.Errorf("%s: %+v", id, l)
			}
			if r, err := m.tryPoll(id, snapshot(0)); err != nil || r.State != guest.Lost {
				t.Errorf("poll of %s: %+v, %v", id, r, err)
			}
			if _, err := m.ask(&guest.Remove{ID: id, Bases: m.bases}); err != nil && id != "job-202" {
				t.Errorf("removal of %s: %v", id, err)
			}
		}
		if left := m.list(); len(left) > 2 {
			t.Errorf("left: %+v", left)
		}
	})
}

// What cannot be removed is an error that names the directory.
func TestStuckFiles(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		jobs := []*guest.Start{m.job("true"), m.job("true"), m.job("true")}
		for _, s := range jobs {
			m.run(s, guest.Exited, 0)
		}
		m.quiet()
		const dir = guest.BaseWorkspace
		// A file that is a mount point stays, also for root.
		if out := m.sh("mount --bind /etc/passwd " + dir + "/" + jobs[0].ID + ".out 2>&1"); out != "" {
			t.Fatalf("no mount: %s", out)
		}
		stuck := func(what string, r commander) {
			if reply, err := m.ask(r); !errors.Is(err, guest.ErrStuck) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %+v, %v", what, reply, err)
			}
		}
		stuck("removal", &guest.Remove{ID: jobs[0].ID, Bases: m.bases})
		if out := m.sh("mount --bind /etc/passwd " + dir + "/" + jobs[1].ID + ".err 2>&1"); out != "" {
			t.Fatalf("no mount: %s", out)
		}
		stuck("pruning", &guest.Prune{Bases: m.bases})
		if left := m.list(); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
		m.sh("umount " + dir + "/*.out; umount " + dir + "/*.err")
	})
}

// A process that is in the middle of an exec has no environment for a moment: one look at which nothing is seen does not end a kill.
func TestKillLooksAgain(t *testing.T) {
	onShells(t, []string{"dash", "bash"}, func(t *testing.T, m *machine) {
		if out := m.sh(`cp /usr/bin/head /workspace/head
			printf '#!/bin/sh\nrm /workspace/blind 2>/dev/null || exec /workspace/head "$@"\n' >/workspace/blinks
			chmod +x /workspace/blinks; mount --bind /workspace/blinks /usr/bin/head 2>&1`); out != "" {
			t.Fatalf("head cannot be replaced: %s", out)
		}
		const leaves = "setsid sleep 601 & echo go; exec sleep 602"
		escaped := func() bool { return strings.Contains(strings.Join(m.commands(), "\n"), "sleep 601") }
		s := m.job("sh", "-c", leaves)
		m.background(s)
		m.eventually("a process in a session of its own", escaped)
		m.sh(": >/workspace/blind")
		m.want(m.signal(s.ID, "KILL"), guest.Signaled, 137)
		if escaped() {
			t.Errorf("left: %q", m.commands())
		}
		deleted := m.job("sh", "-c", leaves)
		m.background(deleted)
		m.eventually("a process in a session of its own", escaped)
		m.sh("rm -rf /workspace/.smol; : >/workspace/blind")
		r, err := m.ask(&guest.Signal{ID: deleted.ID, Bases: m.bases, Signal: "KILL", Known: true})
		if err != nil || r.State != guest.Lost {
			t.Errorf("without its files: %+v, %v", r, err)
		}
		m.quiet()
		late := m.job("sh", "-c", leaves)
		late.Timeout, late.View.Wait = time.Second, 0
		m.start(late)
		m.eventually("a process in a session of its own", escaped)
		m.sh(": >/workspace/blind")
		m.want(m.poll(late.ID, guest.View{Wait: patience}), guest.TimedOut, 124)
		if escaped() {
			t.Errorf("left: %q", m.commands())
		}
	})
}
