package guest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
)

// environ returns the environment that a job with this request finds.
func (m *machine) environ(s *guest.Start) map[string]string {
	m.t.Helper()
	s.Argv = []string{"cat", "/proc/self/environ"}
	env := map[string]string{}
	for _, kv := range strings.Split(string(m.run(s, guest.Exited, 0).Stdout.Data), "\x00") {
		if name, value, ok := strings.Cut(kv, "="); ok {
			if _, twice := env[name]; twice {
				m.t.Errorf("%s is there twice", name)
			}
			env[name] = value
		}
	}
	return env
}

// odd are values that a shell could misread.
var odd = []string{
	"", " ", "a b", "'", "''", `"`, `\`, `\\`, "$HOME", "${HOME}", "`id`", "$(id)", "*", "?", "~", "#x", "a=b", "=", "!!", ";", "&", "|", "<>",
	"\n", "a\nb\n", "\t\r", "'\n'", `'\''`, "'; exit 9; '", "\x01\x02\x1b\x7f", "\u0080\u0081\u0088\u00ff", "é漢🙂", "-n", "--", "%s%d", `\0\1\n`,
}

// shellOwn are variables that a shell keeps for itself or changes.
var shellOwn = []string{
	"_", "BASH", "BASHOPTS", "BASHPID", "BASH_ENV", "BASH_VERSINFO", "COLUMNS", "DIRSTACK", "ENV", "EPOCHSECONDS", "EUID", "FUNCNEST",
	"GLOBIGNORE", "GROUPS", "HISTCMD", "HOSTNAME", "IFS", "LC_ALL", "LD_LIBRARY_PATH", "LINENO", "LINES", "MAIL", "OLDPWD", "OPTARG", "OPTERR",
	"OPTIND", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PS1", "PS4", "PWD", "RANDOM", "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TERM",
	"TMOUT", "TZ", "UID", "_j", "_jf", "_jpath", "_jextra", "_jvars", "_jwd", "_jx", "f", "n", "x",
}

func TestEnvironment(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		want := map[string]string{"HOME": "/elsewhere", "A1_b": "later"}
		s := m.job()
		s.Env = []string{"A1_b=first", "HOME=/elsewhere"}
		for i, v := range odd {
			name := "ODD_" + string(rune('A'+i/26)) + string(rune('A'+i%26))
			want[name] = v
			s.Env = append(s.Env, name+"="+v)
		}
		for _, name := range shellOwn {
			want[name] = "of the user's: " + name
			s.Env = append(s.Env, name+"=of the user's: "+name)
		}
		s.Env = append(s.Env, "A1_b=later")
		got := m.environ(s)
		if got["SMOL_JOB"] != s.ID {
			t.Errorf("SMOL_JOB is %q", got["SMOL_JOB"])
		}
		maps.DeleteFunc(got, func(name, _ string) bool { _, ok := want[name]; return !ok })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Nothing of ours reaches the command, and what the exec has does, as with a plain sh -c.
func TestEnvironmentOfTheExec(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.env = []string{"PATH=/usr/bin:/bin", "MINE=1", "HOME=/root", "UID=7", "IFS=x"}
		plain := map[string]string{"SMOL_JOB": ""}
		for _, kv := range strings.Split(string(m.exec([]string{"sh", "-c", "cd /; cat /proc/self/environ | cat"})), "\x00") {
			if name, value, ok := strings.Cut(kv, "="); ok {
				plain[name] = value
			}
		}
		own := func(name, _ string) bool { return slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name) }
		got := m.environ(m.job())
		got["SMOL_JOB"] = ""
		maps.DeleteFunc(got, own)
		maps.DeleteFunc(plain, own)
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStoredEnvironment(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		env := map[string]string{"A": "stored", "B": "stored", "UID": "stored", "PPID": "stored", "PATH": "/stored:/usr/bin:/bin"}
		for i, v := range odd {
			env["ODD"+string(rune('A'+i/26))+string(rune('A'+i%26))] = v
		}
		if r := m.setup(env, "/tmp"); r.State != guest.Ready || r.Base != guest.BaseWorkspace {
			t.Errorf("%+v", r)
		}
		if got := m.sh("stat -c %a /workspace/.smol/env"); got != "600" {
			t.Errorf("mode %s", got)
		}
		s := m.job()
		s.Env = []string{"B=own", "PPID=own", "C=own"}
		want := maps.Clone(env)
		want["B"], want["PPID"], want["C"] = "own", "own", "own"
		got := m.environ(s)
		maps.DeleteFunc(got, func(name, _ string) bool { _, ok := want[name]; return !ok })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if got := m.output("pwd"); got != "/tmp\n" {
			t.Errorf("directory %q", got)
		}

		// A setup that stores nothing leaves what is stored; an empty one takes it away.
		m.setup(nil, "")
		if got := m.output("echo $A"); got != "stored\n" {
			t.Errorf("A is %q", got)
		}
		m.setup(map[string]string{"B": "2"}, "")
		if got := m.output(`echo "$A,$B,$PWD"`); got != ",2,/\n" {
			t.Errorf("after another setup: %q", got)
		}
		m.setup(map[string]string{}, "")
		if got := m.output(`echo "$A,$B"`); got != ",\n" {
			t.Errorf("after an empty setup: %q", got)
		}
		if got := m.sh("ls -A /workspace/.smol | grep env"); got != "env" {
			t.Errorf("left: %q", got)
		}
	})
}

func TestLargeSetup(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		env := map[string]string{}
		for _, name := range []string{"A", "B", "C"} {
			env[name] = strings.Repeat("é'\n", 24<<10)
		}
		m.setup(env, "")
		if got := m.environ(m.job()); got["A"] != env["A"] || got["C"] != env["C"] {
			t.Errorf("%d, %d bytes of %d", len(got["A"]), len(got["C"]), len(env["A"]))
		}
	})
}

// Our own programs are found whatever the command's PATH is, and the command is found by its own.
func TestPath(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.sh("mkdir -p /workspace/bin; printf '#!/bin/sh\necho \"mine $PATH\"\n' >/workspace/bin/mine; chmod +x /workspace/bin/mine; : >/workspace/in")
		for _, env := range [][]string{{"PATH=/workspace/bin"}, {"PATH=/workspace/bin", "UID=1"}} {
			s := m.job("mine")
			s.Env, s.Stdin = env, "/workspace/in"
			if r := m.run(s, guest.Exited, 0); string(r.Stdout.Data) != "mine /workspace/bin\n" {
				t.Errorf("%+v", r)
			}
			m.sh(": >/workspace/in")
			s = m.job("no-such-program")
			s.Env = env
			m.run(s, guest.Exited, 127)
		}
		m.setup(map[string]string{"PATH": "/workspace/bin"}, "")
		if r := m.run(m.job("mine"), guest.Exited, 0); string(r.Stdout.Data) != "mine /workspace/bin\n" {
			t.Errorf("%+v", r)
		}
		m.setup(map[string]string{}, "")
		m.env = []string{"PATH=/workspace/bin:/usr/bin:/bin"}
		if r := m.run(m.job("mine"), guest.Exited, 0); string(r.Stdout.Data) != "mine /workspace/bin:/usr/bin:/bin\n" {
			t.Errorf("%+v", r)
		}
	})
}
