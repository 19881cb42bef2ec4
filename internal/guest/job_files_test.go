package guest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
)

// files returns the names in the base, but for what is always there.
func (m *machine) files() string {
	return m.sh("ls " + guest.BaseWorkspace)
}

func TestBases(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		r := m.run(m.job("true"), guest.Exited, 0)
		if r.Base != guest.BaseWorkspace {
			t.Errorf("base %q", r.Base)
		}
		if got := m.sh("stat -c %a /workspace/.smol; cat /workspace/.smol/.gitignore"); got != "700\n*" {
			t.Errorf("the base: %q", got)
		}

		// A job is found wherever it is.
		elsewhere := m.job("echo", "elsewhere")
		elsewhere.Bases = []string{guest.BaseFallback}
		if r := m.run(elsewhere, guest.Exited, 0); r.Base != guest.BaseFallback {
			t.Errorf("base %q", r.Base)
		}
		if r := m.poll(elsewhere.ID, whole); r.Base != guest.BaseFallback || string(r.Stdout.Data) != "elsewhere\n" {
			t.Errorf("%+v", r)
		}
		elsewhere.Bases = m.bases
		if r := m.start(elsewhere); r.Base != guest.BaseFallback {
			t.Errorf("started again in %q", r.Base)
		}
	})
}

func TestBaseThatCannotBeUsed(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.sh("mkdir -p /mnt/ro; : >/mnt/file; mount -t tmpfs -o ro none /mnt/ro")
		s := m.job("echo", "there")
		s.Bases = []string{"/mnt/ro/.smol", "/mnt/file/.smol", "/mnt/file", "/proc/.smol", "/mnt/a/b/.smol"}
		if r := m.run(s, guest.Exited, 0); r.Base != "/mnt/a/b/.smol" || string(r.Stdout.Data) != "there\n" {
			t.Errorf("%+v", r)
		}
		m.bases = []string{"/mnt/ro/.smol", "/mnt/file/.smol"}
		none := m.job("sh", "-c", "echo ran >/workspace/ran")
		argv, _, err := none.Command()
		if err != nil {
			t.Fatal(err)
		}
		if r, err := m.reply(argv, whole); !errors.Is(err, guest.ErrNoBase) {
			t.Errorf("%+v, %v", r, err)
		}
		if got := m.sh("ls /workspace/ran 2>&1"); !strings.Contains(got, "No such file") {
			t.Errorf("it ran: %q", got)
		}
		argv, _ = (&guest.Setup{Bases: m.bases}).Command()
		if r, err := m.reply(argv, guest.View{}); !errors.Is(err, guest.ErrNoBase) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// With a full disk a command does not run; one that fills it has its end written down.
func TestFullDisk(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.sh("mkdir -p /mnt/d && mount -t tmpfs -o size=256k,mode=755 none /mnt/d")
		s := m.job("sh", "-c", "echo go; sleep 0.3; cat /dev/zero >/mnt/d/zero; exit 9")
		s.Bases = []string{"/mnt/d/.smol"}
		if r := m.run(s, guest.Exited, 9); !strings.HasPrefix(string(r.Stdout.Data), "go\n") {
			t.Errorf("%+v", r)
		}
		next := m.job("sh", "-c", "echo ran >/workspace/ran")
		next.Bases = []string{"/mnt/d/.smol"}
		argv, _, _ := next.Command()
		if r, err := m.reply(argv, whole); !errors.Is(err, guest.ErrNoBase) {
			t.Errorf("%+v, %v", r, err)
		}
		next.Bases = append(next.Bases, guest.BaseFallback)
		if r := m.run(next, guest.Exited, 0); r.Base != guest.BaseFallback {
			t.Errorf("%+v", r)
		}
	})
}

func TestAck(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		read, runs, gone := m.job("true"), m.job("sh", "-c", "echo go; exec sleep 600"), m.job("true")
		lost := m.job("sh", "-c", "echo go; exec sleep 600")
		m.background(lost)
		m.sh("kill -9 " + m.keepers(lost))
		m.lost(lost)
		m.run(read, guest.Exited, 0)
		m.background(runs)
		m.signal(gone.ID, "KILL")
		m.sh(`echo precious >/workspace/precious.out; cd /workspace/.smol; : >other.out
			read -r now _ </proc/uptime; echo $now >starts.job; echo $((${now%.*}-20)).00 >never-started.job`)
		next := m.job("true")
		next.Ack = []string{read.ID, runs.ID, gone.ID, lost.ID, "never-was", "starts", "never-started"}
		m.run(next, guest.Exited, 0)
		m.eventually("the removal", func() bool { return !strings.Contains(m.files(), read.ID+".") })
		for _, s := range []*guest.Start{read, gone, lost} {
			m.eventually("the end of "+s.ID, func() bool { // a poll may meet the removal
				r, err := m.tryPoll(s.ID, whole)
				// What is left of it runs, and so it is known that it was there.
				return errors.Is(err, guest.ErrNoJob) || s == lost && err == nil && r.State == guest.Lost
			})
		}
		if r := m.poll(runs.ID, guest.View{}); r.State != guest.Running {
			t.Errorf("%+v", r)
		}
		if got := m.files(); !strings.Contains(got, "other.out") || !strings.Contains(got, "starts.job") || strings.Contains(got, "never-started") {
			t.Errorf("left: %q", got)
		}
		m.signal(runs.ID, "KILL")
		m.signal(lost.ID, "KILL")
	})
}

// The script itself does not follow a path that the Go side would have refused.
func TestAckOfAPath(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		const mark = "zz-mark-zz"
		m.sh("cd /workspace; for f in job exit; do echo 1 >precious.$f; done; echo exited 0 1 1 >precious.exit")
		s := m.job("true")
		s.Ack = []string{mark}
		argv, _, err := s.Command()
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range argv {
			if a == mark {
				argv[i] = "../precious . .. / * /workspace/precious"
			}
		}
		if r, err := m.reply(argv, whole); err != nil || r.State != guest.Exited {
			t.Fatalf("%+v, %v", r, err)
		}
		m.quiet()
		if got := m.sh("ls /workspace"); got != "precious.exit\nprecious.job" {
			t.Errorf("left: %q", got)
		}
	})
}

// Jobs that nobody acknowledges go by themselves, the oldest first.
func TestOldJobsGo(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.setup(nil, "")
		// A job that ended later than now ended before the machine was restarted.
		m.sh(`cd /workspace/.smol; read -r now _ </proc/uptime; now=${now%.*}; then=$((now-3700)); [ $then -gt 0 ] || then=$((now+9999))
			i=0; while [ $((i+=1)) -le 40 ]; do
				echo 1.00 | tee old-$i.job >old-$i.out; echo exited 0 1.00 $then.00 >old-$i.exit; touch -d '2001-01-01 00:00' old-$i.exit
				echo 1.00 | tee new-$i.job >new-$i.out; echo exited 0 1.00 $now.00 >new-$i.exit; touch -d '2002-01-01 00:00' new-$i.exit
			done`)
		old := func() int { return strings.Count(m.files(), "old-") }
		for range 300 {
			m.run(m.job("true"), guest.Exited, 0)
			if m.quiet(); old() < 120 {
				break
			}
		}
		if got := old(); got == 120 {
			t.Errorf("%d files of old jobs are left", got)
		}
		if got := strings.Count(m.files(), "new-"); got != 120 {
			t.Errorf("%d files of new jobs are left", got)
		}
	})
}

func TestReadAgainIsTheSame(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo out; exit 3")
		first := m.run(s, guest.Exited, 3)
		for range 3 {
			if again := m.start(s); fmt.Sprint(again) != fmt.Sprint(first) {
				t.Errorf("%+v, then %+v", first, again)
			}
		}
	})
}
