//go:build linux

package sandbox_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
)

func TestReach(t *testing.T) {
	for _, row := range []struct {
		name  string
		reach sim.Reach
		left  string
	}{
		{"self", sim.ReachSelf, "101 102 103 104"},
		{"group", sim.ReachGroup, "103 104"},
		{"tree", sim.ReachTree, "104"},
	} {
		m := boot(t, sim.Boot{})
		// 101 and 102 in the group, 103 in a session of its own, 104 too and besides an orphan.
		p := m.start(&sim.Command{Argv: []string{"sh", "-c", "sleep 101 & sh -c 'sleep 102; :' & setsid -w sleep 103 & (setsid setsid sleep 104 &) ; wait"}})
		sleeping := func() string { return m.shell("pgrep -ax sleep | sed 's/.* //' | sort | xargs") }
		eventually(t, "all sleep", func() bool { return sleeping() == "101 102 103 104" })
		controlled := p.(sim.Controlled)
		select {
		case <-controlled.Exited():
			t.Errorf("%s: exited before it was killed", row.name)
		default:
		}
		if err := controlled.Kill(row.reach); err != nil {
			t.Fatal(err)
		}
		if code, err := p.Wait(); code != 137 || err != nil {
			t.Errorf("%s: %d, %v", row.name, code, err)
		}
		<-controlled.Exited()
		eventually(t, row.name+" is dead, and no other", func() bool { return sleeping() == row.left })
		if err := controlled.Kill(row.reach); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: second kill: %v", row.name, err)
		}
		if err := m.start(&sim.Command{Argv: []string{"sleep", "1"}}).(sim.Controlled).Kill(99); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("no such reach: %v", err)
		}
	}
}

// A tree that grows while it is cut down.
func TestKillOfAGrowingTree(t *testing.T) {
	m := boot(t, sim.Boot{})
	for range 5 {
		p := m.start(&sim.Command{Argv: []string{"bash", "-c", `f() { for i in 1 2 3; do setsid -w sleep 1000 & done; wait; }; while :; do f & /bin/true; [ $((n+=1)) -lt 20 ] || wait; done`}})
		eventually(t, "it grows", func() bool { return m.shell("pgrep -xc sleep || true") > "0" })
		if err := p.(sim.Controlled).Kill(sim.ReachTree); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nothing is left", func() bool { return m.shell("pgrep -xc 'sleep|bash' || true") == "0" })
	}
}
