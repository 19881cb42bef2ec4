package guest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/rounds"
)

func TestArguments(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		const show = `for a; do printf '<%s>' "$a"; done`
		for _, big := range []string{"", strings.Repeat("x", guest.MaxArgs)} {
			args := append([]string{"sh", "-c", show, "sh", big}, odd...)
			r := m.run(m.job(args...), guest.Exited, 0)
			if want := "<" + strings.Join(args[4:], "><") + ">"; string(r.Stdout.Data) != want {
				t.Errorf("got %.300q, want %.300q", r.Stdout.Data, want)
			}
		}
	})
}

// Every character arrives, in the arguments and in the environment.
func TestEveryCharacter(t *testing.T) {
	var all strings.Builder
	for r := rune(1); r < 0x3000; r++ {
		all.WriteRune(r)
		if r%16 == 0 {
			all.WriteString(string(rune(0x1f300+r)) + "'")
		}
	}
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, more := range []string{"", strings.Repeat("x", guest.MaxArgs)} {
			s := m.job("sh", "-c", `printf %s "$1$A"; printf %s "$UID2" >&2`, "sh", all.String(), more)
			s.Env = []string{"A=" + all.String(), "UID2=" + all.String(), "UID=" + all.String()}
			r := m.run(s, guest.Exited, 0)
			if string(r.Stdout.Data) != all.String()+all.String() || string(r.Stderr.Data) != all.String() {
				t.Errorf("%d and %d of %d bytes", len(r.Stdout.Data), len(r.Stderr.Data), all.Len())
			}
		}
	})
}

func TestArgumentsBeyondOneExec(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		long := strings.Repeat("0123456789abcde\n", guest.MaxArg/16) // 15 bytes less than the longest
		s := m.job("sh", "-c", `printf '%s|' "$#" "$1" "$4" "$A" "$UID2"; pwd`, "sh", long, "b", "c", long)
		s.Env = []string{"A=" + strings.Repeat("'", 50_000), "UID2=2"}
		s.Dir = "/tmp"
		argv, files, err := s.Command()
		if err != nil || len(files) != 1 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		if n := len(strings.Join(argv, "")); n > guest.MaxArgs {
			t.Errorf("the exec has %d bytes", n)
		}
		r := m.run(s, guest.Exited, 0)
		if want := "4|" + long + "|" + long + "|" + strings.Repeat("'", 50_000) + "|2|/tmp\n"; string(r.Stdout.Data) != want {
			t.Errorf("%d bytes, want %d", len(r.Stdout.Data), len(want))
		}
		if got := m.files(); strings.Contains(got, ".args") {
			t.Errorf("left: %q", got)
		}
	})
}

// A text for sh -c that is too long for an argument runs as it would there.
func TestLongScript(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		script := "echo \"$0 $# $2\"\n" + strings.Repeat("# filling, with 'quotes' in it\n", 5000) + "set -- x\necho \"$1 $A\"\nexit 7\n"
		for _, row := range []struct {
			argv   []string
			stdout string
		}{
			{[]string{"sh", "-c", script}, "sh 0 \nx env\n"},
			{[]string{"/bin/sh", "-e", "-c", script, "name", "1", "two words"}, "name 2 two words\nx env\n"},
			{[]string{"sh", "-ec", script, "name", "1", "2"}, "name 2 2\nx env\n"},
			{append([]string{"sh", "-c", script, "name", "1"}, strings.Repeat("y", guest.MaxArgs)), "name 2 " + strings.Repeat("y", guest.MaxArgs) + "\nx env\n"},
		} {
			s := m.job(row.argv...)
			s.Env = []string{"A=env"}
			r := m.run(s, guest.Exited, 7)
			if string(r.Stdout.Data) != row.stdout {
				t.Errorf("stdout %.100q, stderr %q", r.Stdout.Data, r.Stderr.Data)
			}
			m.quiet()
			if got := m.files(); strings.Contains(got, ".script") || strings.Contains(got, ".args") {
				t.Errorf("left: %q", got)
			}
		}
	})
}

func TestFilesThatDidNotArrive(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("echo", strings.Repeat("x", guest.MaxArgs))
		argv, _, err := s.Command()
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.reply(argv, s.View)
		if err != nil {
			t.Fatal(err)
		}
		m.want(r, guest.Exited, 126)
		if !strings.Contains(string(r.Stderr.Data), "arguments: not there") {
			t.Errorf("stderr %q", r.Stderr.Data)
		}
	})
}

func TestStdin(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		data, script := counted(300_000)
		m.sh("mkdir -p '/workspace/a b'; " + script + " >'/workspace/a b/in'")
		s := m.job("sh", "-c", "cat; sleep 0.1; cat")
		s.Stdin = "/workspace/a b/in"
		if r := m.run(s, guest.Exited, 0); string(r.Stdout.Data) != string(data) {
			t.Errorf("%d of %d bytes", len(r.Stdout.Data), len(data))
		}
		if got := m.sh("ls '/workspace/a b'"); got != "" {
			t.Errorf("left: %q", got)
		}
		r := m.run(m.job("sh", "-c", "cat; readlink /proc/self/fd/0"), guest.Exited, 0)
		if got := string(r.Stdout.Data); got != "/dev/null\n" {
			t.Errorf("without input: %q", got)
		}
		s = m.job("cat")
		s.Stdin = "/workspace/not there"
		r = m.run(s, guest.Exited, 126)
		if got := string(r.Stderr.Data); got != "stdin: /workspace/not there: cannot be read\n" {
			t.Errorf("stderr %q", got)
		}
	})
}

func TestDir(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, dir := range []string{"/tmp", "/workspace/a b", "/workspace/é'$x", "workspace", "/", "/workspace/-", "/workspace/new\nline"} {
			m.sh("mkdir -p '" + strings.ReplaceAll(dir, "'", `'\''`) + "'")
			s := m.job("readlink", "/proc/self/cwd")
			s.Dir = dir
			r := m.run(s, guest.Exited, 0)
			if got := strings.TrimPrefix(string(r.Stdout.Data), "/"); got != strings.TrimPrefix(dir, "/")+"\n" {
				t.Errorf("%q: %q", dir, got)
			}
		}
		for _, dir := range []string{"/no/such", "/etc/passwd", "-", "~", "relative"} {
			s := m.job("echo", "ran")
			s.Dir = dir
			r := m.run(s, guest.Exited, 126)
			if got := string(r.Stderr.Data); !strings.HasPrefix(got, "cd: ") || !strings.Contains(got, dir) || r.StdoutSize > 0 {
				t.Errorf("%q: %q", dir, got)
			}
		}
	})
}

// What the command inherits is what it would from a plain exec.
func TestInheritance(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		got := m.output(`ls /proc/self/fd; umask; grep -E 'SigIgn|SigBlk' /proc/self/status; ps -o pid,pgid,sid 2>/dev/null | grep -c "^ *$$  *$$  *$$"`)
		want := m.sh(`ls /proc/self/fd; umask; grep -E 'SigIgn|SigBlk' /proc/self/status; ps -o pid,pgid,sid 2>/dev/null | grep -c "^ *$$  *$$  *$$"`)
		if got != want+"\n" {
			t.Errorf("got %q, want %q", got, want)
		}
		m.output(": >/workspace/new")
		if got := m.sh("stat -c %a /workspace/new"); got != "644" {
			t.Errorf("mode of a new file: %s", got)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		parallel(16, func(i int) {
			for j := range rounds.Soak(2, 3) {
				s := m.job("sh", "-c", fmt.Sprintf("echo %d-%d; exit %d", i, j, i))
				argv, _, err := s.Command()
				if err != nil {
					t.Error(err)
					return
				}
				r, err := m.reply(argv, s.View)
				if err != nil || r.Code != i || string(r.Stdout.Data) != fmt.Sprintf("%d-%d\n", i, j) {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
		m.quiet()
	})
}

func TestAsAnotherUser(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.sh("chmod 1777 /var/tmp")
		m.user = "1000"
		s := m.job("id", "-u")
		argv, _, err := s.Command()
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.reply(argv, s.View)
		if err != nil {
			t.Fatal(err)
		}
		if m.want(r, guest.Exited, 0); string(r.Stdout.Data) != "1000\n" || r.Base != guest.BaseFallback {
			t.Errorf("%+v", r)
		}
		m.user = ""
		if r := m.poll(s.ID, whole); string(r.Stdout.Data) != "1000\n" {
			t.Errorf("%+v", r)
		}
		if r, err := m.tryPoll("never", whole); !errors.Is(err, guest.ErrNoJob) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
