package guest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
)

// commander is a request that needs no files.
type commander interface{ Command() ([]string, error) }

// ask sends a request whose reply brings no output.
func (m *machine) ask(r commander) (*guest.Reply, error) {
	m.t.Helper()
	argv, err := r.Command()
	if err != nil {
		m.t.Fatal(err)
	}
	return m.reply(argv, guest.View{})
}

func (m *machine) list() map[string]guest.Listed {
	m.t.Helper()
	argv, err := (&guest.List{Bases: m.bases}).Command()
	if err != nil {
		m.t.Fatal(err)
	}
	all, err := guest.ParseList(m.exec(argv))
	if err != nil {
		m.t.Fatal(err)
	}
	byID := map[string]guest.Listed{}
	for _, l := range all {
		byID[l.ID] = l
	}
	return byID
}

func TestListAndRemove(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		if all := m.list(); len(all) != 0 {
			t.Errorf("without any: %+v", all)
		}
		ended, runs, other := m.job("sh", "-c", "exit 3"), m.job("sh", "-c", "echo go; exec sleep 600"), m.job("true")
		ended.Note, other.ID = `["it's","$HOME\\n"]`, "not-of-that-form"
		other.Bases, ended.Bases = m.bases, m.bases[1:]
		m.run(ended, guest.Exited, 3)
		m.run(other, guest.Exited, 0)
		m.background(runs)
		all := m.list()
		if l := all[ended.ID]; len(all) != 2 || l.State != guest.Exited || l.Code != 3 || l.Note != ended.Note || l.Ended < l.Started {
			t.Errorf("ended: %+v", all)
		}
		if l := all[runs.ID]; l.State != guest.Running || l.Note != "" {
			t.Errorf("runs: %+v", l)
		}
		if _, err := m.ask(&guest.Remove{ID: runs.ID, Bases: m.bases}); !errors.Is(err, guest.ErrBusy) {
			t.Errorf("removal of one that runs: %v", err)
		}
		if r, err := m.ask(&guest.Remove{ID: ended.ID, Bases: m.bases}); err != nil || r.State != guest.Ready {
			t.Errorf("removal: %+v, %v", r, err)
		}
		if _, err := m.ask(&guest.Remove{ID: ended.ID, Bases: m.bases}); !errors.Is(err, guest.ErrNoJob) {
			t.Errorf("removal again: %v", err)
		}
		m.signal(runs.ID, "KILL")
		if l := m.list()[runs.ID]; len(m.list()) != 1 || l.State != guest.Signaled || l.Code != 137 {
			t.Errorf("killed: %+v", l)
		}
	})
}

// Each start removes what ended an hour ago beyond the newest 50; on request also others go. Jobs that run do not count.
func TestPrune(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.setup(nil, "")
		m.sh(`cd /workspace/.smol; read -r now _ </proc/uptime; now=${now%.*}; then=$((now-3700)); [ $then -gt 0 ] || then=$((now+9999))
			i=100; while [ $((i+=1)) -le 155 ]; do
				echo 1.00 >job-$i.job; echo exited 0 1.00 $then.00 >job-$i.exit; touch -d "2001-01-01 01:$((i-100)):00" job-$i.exit
			done`)
		m.background(m.job("sh", "-c", "echo go; exec sleep 600"))
		m.eventually("the removal of the oldest", func() bool { return len(m.list()) <= 51 })
		all := m.list()
		_, oldest := all["job-101"]
		_, newest := all["job-155"]
		if len(all) != 51 || oldest || !newest {
			t.Errorf("%d left, the oldest %v, the newest %v", len(all), oldest, newest)
		}
		if r, err := m.ask(&guest.Prune{Bases: m.bases, Keep: 10, Age: 9000 * time.Hour}); err != nil || r.StdoutSize > 40 {
			t.Errorf("of a great age: %+v, %v", r, err)
		}
		if _, err := m.ask(&guest.Prune{Bases: m.bases, Keep: 10, Age: time.Second}); err != nil {
			t.Error(err)
		}
		all = m.list()
		if len(all) != 11 {
			t.Errorf("%d left, want 10 and the one that runs", len(all))
		}
		for id, l := range all {
			if l.State == guest.Running {
				m.signal(id, "KILL")
			}
		}
	})
}

func TestGrep(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", `seq 1 5000; printf 'a\0b\377\nA.B\n' ; echo Error >&2`)
		m.run(s, guest.Exited, 0)
		for _, row := range []struct {
			g              guest.Grep
			stdout, stderr string
		}{
			{guest.Grep{Pattern: "^(499|50)0$"}, "500:500\n4990:4990\n", ""},
			{guest.Grep{Pattern: "^499[89]$"}, "4998:4998\n4999:4999\n", ""},
			{guest.Grep{Pattern: "^a", IgnoreCase: true}, "5001:a\x00b\xff\n5002:A.B\n", ""},
			{guest.Grep{Pattern: "A.B", Fixed: true}, "5002:A.B\n", ""},
			{guest.Grep{Pattern: "-x'$(id)", Fixed: true}, "", ""},
			{guest.Grep{Pattern: "error", IgnoreCase: true}, "", "1:Error\n"},
			{guest.Grep{Pattern: "^[0-9]*$", Budget: 9}, "1:1\n2:00\n", ""},
		} {
			row.g.ID, row.g.Bases = s.ID, m.bases
			if row.g.Budget == 0 {
				row.g.Budget = 1000
			}
			argv, err := row.g.Command()
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.reply(argv, row.g.View())
			if err != nil {
				t.Errorf("%q: %v", row.g.Pattern, err)
			} else if got := string(r.Stdout.Data); got != row.stdout || string(r.Stderr.Data) != row.stderr || r.State != guest.Exited {
				t.Errorf("%q: %q, %q", row.g.Pattern, got, r.Stderr.Data)
			}
		}
		for pattern, want := range map[string]error{"a(": guest.ErrPattern, "[": guest.ErrPattern} {
			if _, err := m.ask(&guest.Grep{ID: s.ID, Bases: m.bases, Pattern: pattern}); !errors.Is(err, want) {
				t.Errorf("%q: %v", pattern, err)
			}
		}
		m.sh(": >/workspace/.smol/" + s.ID + ".grep4194305.out") // of a search that was killed
		if _, err := m.ask(&guest.Grep{ID: s.ID, Bases: m.bases, Pattern: "none"}); err != nil {
			t.Error(err)
		}
		if _, err := m.ask(&guest.Grep{ID: "job-1", Bases: m.bases}); !errors.Is(err, guest.ErrNoJob) {
			t.Errorf("in no job: %v", err)
		}
		if got := m.files(); strings.Contains(got, "grep") {
			t.Errorf("left: %q", got)
		}
	})
}

// A job that writes too much is killed, and what is beyond the limit is cut off.
func TestOutputLimit(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		const limit = 100_000
		endless, quick, within := m.job("sh", "-c", "sleep 600 & yes"), m.job("sh", "-c", "seq 1 40000 >&2; exit 3"), m.job("sh", "-c", "head -c 100000 /dev/zero; exit 4")
		for _, s := range []*guest.Start{endless, quick, within} {
			s.Limit = limit
			s.View.Budget = 10
		}
		if r := m.run(endless, guest.Signaled, 137); r.StdoutSize != limit || string(r.Stdout.Data) != "y\ny\ny\ny\ny\n" {
			t.Errorf("endless: %+v", r)
		}
		if r := m.run(quick, guest.Exited, 3); r.StderrSize != limit {
			t.Errorf("quick: %+v", r)
		}
		if r := m.run(within, guest.Exited, 4); r.StdoutSize != limit {
			t.Errorf("within: %+v", r)
		}
		limited := m.job("sh", "-c", "echo go; sleep 600 & sleep 600")
		limited.Limit, limited.Timeout = limit, 1500*time.Millisecond
		m.background(limited)
		m.want(m.poll(limited.ID, whole), guest.TimedOut, 124)
		m.quiet()
	})
}

// What the machine says while a job runs brings no output when none is wanted.
func TestHush(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo go; until [ -e /workspace/end ]; do sleep 0.05; done")
		m.background(s)
		v := guest.View{Budget: 100, Hush: true, Clip: true}
		if r := m.poll(s.ID, v); r.State != guest.Running || len(r.Stdout.Data) != 0 || r.StdoutSize != 3 {
			t.Errorf("while it runs: %+v", r)
		}
		m.sh(": >/workspace/end")
		v.Wait = patience
		if r := m.want(m.poll(s.ID, v), guest.Exited, 0); string(r.Stdout.Data) != "go\n" {
			t.Errorf("at the end: %+v", r)
		}
	})
}

// A signal to a job that must be there starts and takes nothing, and what a job leaves can be killed when it has ended, or its files are gone.
func TestKnownSignal(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		ask := func(id, name string) (*guest.Reply, error) {
			return m.ask(&guest.Signal{ID: id, Bases: m.bases, Signal: name, Known: true})
		}
		if _, err := ask("job-1", "KILL"); !errors.Is(err, guest.ErrNoJob) {
			t.Errorf("no job: %v", err)
		}
		if _, err := m.tryPoll("job-1", whole); !errors.Is(err, guest.ErrNoJob) {
			t.Errorf("the id is taken: %v", err)
		}
		leaves := m.job("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & exit 5")
		m.run(leaves, guest.Exited, 5)
		// Between two programs a process has no environment by which it could be found.
		m.eventually("what it leaves", func() bool {
			return slices.ContainsFunc(m.commands(), func(s string) bool { return strings.HasPrefix(s, "sleep 600") })
		})
		if _, err := ask(leaves.ID, "TERM"); !errors.Is(err, guest.ErrEnded) {
			t.Errorf("ended: %v", err)
		}
		if r, err := ask(leaves.ID, "KILL"); err != nil || r.State != guest.Exited || r.Code != 5 {
			t.Errorf("ended: %+v, %v", r, err)
		}
		m.quiet()
		deleted := m.job("sh", "-c", "echo go; setsid sleep 600 & sleep 600")
		m.background(deleted)
		m.sh("rm -rf /workspace/.smol")
		if r := m.poll(deleted.ID, guest.View{Budget: 10}); r.State != guest.Lost || r.StdoutSize != 0 {
			t.Errorf("deleted: %+v", r)
		}
		m.run(m.job("true"), guest.Exited, 0) // the base comes back
		if r, err := ask(deleted.ID, "KILL"); err != nil || r.State != guest.Lost {
			t.Errorf("deleted: %+v, %v", r, err)
		}
		m.quiet()
		if _, err := m.tryPoll(deleted.ID, guest.View{}); !errors.Is(err, guest.ErrNoJob) {
			t.Errorf("deleted and killed: %v", err)
		}
	})
}

func TestParseList(t *testing.T) {
	all := []guest.Listed{
		{ID: "job-1", State: guest.Exited, Code: 3, Started: time.Second, Ended: 2 * time.Second, Note: `["a b"]`},
		{ID: "job-2", State: guest.Running, Ended: time.Minute},
	}
	got, err := guest.ParseList(guest.EncodeList(all))
	if err != nil || !cmp.Equal(got, all) {
		t.Errorf("%v: %s", err, cmp.Diff(all, got))
	}
	for text, want := range map[string]error{
		"":                                       guest.ErrNoShell,
		"<html>":                                 guest.ErrNoShell,
		"smol1 list\n":                           guest.ErrShort,
		"smol1 list\njob-1 exited 0 1.00 2.00 x": guest.ErrShort,
		"smol1 list\njob-1 exited 0 1.00 2.0end\n": guest.ErrShort,
	} {
		if got, err := guest.ParseList([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %+v, %v, want %v", text, got, err, want)
		}
	}
	// What is damaged is lost, or no job, and the others are told all the same.
	got, err = guest.ParseList([]byte("smol1 list\njob-1 exited 0 1.00\njob-2 ready - 1.00 1.00 \n../x exited 0 1.00 2.00 \njob-3 exited x 1.00 2.00 n\n" +
		"job-4 exited 0 1.00 2 \njob-5 exited 99999999 1.00 2.00 \n\njob-6 exited 3 1.00 2.00 \nend\n"))
	want := []guest.Listed{
		{ID: "job-1", State: guest.Lost},
		{ID: "job-2", State: guest.Lost},
		{ID: "job-3", State: guest.Lost, Note: "n"},
		{ID: "job-4", State: guest.Lost},
		{ID: "job-5", State: guest.Lost},
		{ID: "job-6", State: guest.Exited, Code: 3, Started: time.Second, Ended: 2 * time.Second},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
}

func TestJobRequests(t *testing.T) {
	for _, r := range []commander{
		&guest.List{Bases: bases}, &guest.Remove{ID: "a", Bases: bases}, &guest.Prune{Bases: bases, Keep: 5, Age: time.Hour},
		&guest.Grep{ID: "a", Bases: bases, Pattern: "-e '", Fixed: true, IgnoreCase: true, Budget: 7}, &guest.Grep{ID: "a", Bases: bases},
		&guest.Signal{ID: "a", Bases: bases, Signal: "INT", Known: true},
	} {
		argv, err := r.Command()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, parsed(t, argv, nil)); diff != "" {
			t.Error(diff)
		}
	}
	for i, r := range []commander{
		&guest.List{}, &guest.Remove{Bases: bases}, &guest.Remove{ID: "..", Bases: bases}, &guest.Prune{Bases: bases, Keep: -1},
		&guest.Prune{Bases: bases, Age: -1}, &guest.Grep{Bases: bases}, &guest.Grep{ID: "a", Bases: bases, Pattern: "\xff"},
		&guest.Grep{ID: "a", Bases: bases, Pattern: "a\nb"}, &guest.Grep{ID: "a", Bases: bases, Pattern: "\x00"},
		&guest.Grep{ID: "a", Bases: bases, Budget: -1}, &guest.Grep{ID: "a", Bases: bases, Pattern: strings.Repeat("x", guest.MaxArg+1)},
	} {
		var field *guest.FieldError
		if argv, err := r.Command(); argv != nil || !errors.As(err, &field) {
			t.Errorf("row %d: %v", i, err)
		}
	}
	for _, s := range []guest.Start{{Limit: -1}, {Limit: 1 << 40}, {Note: "a\nb"}, {Note: "\xff"}, {Note: fmt.Sprint(make([]byte, 4000))}} {
		s.ID, s.Bases, s.Argv = "a", bases, []string{"x"}
		var field *guest.FieldError
		if _, _, err := s.Command(); !errors.As(err, &field) {
			t.Errorf("%.30q of limit %d: %v", s.Note, s.Limit, err)
		}
	}
}
