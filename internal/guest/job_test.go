package guest_test

import (
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/guest"
)

func TestExitCodes(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, row := range []struct {
			script string
			code   int
		}{
			{"exit 0", 0},
			{"exit 1", 1},
			{"exit 77", 77},
			{"exit 255", 255},
			{"false", 1},
			{"exit 143", 143},
			{"kill -TERM $$", 143},
			{"kill -KILL $$", 137},
			{"kill -INT $$", 130},
			{"kill -SEGV $$", 139},
		} {
			m.run(m.job("sh", "-c", row.script), guest.Exited, row.code)
		}
		m.run(m.job("true"), guest.Exited, 0)
	})
}

func TestProgramThatIsNotThere(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		m.sh("mkdir -p /workspace/d; echo echo found >/workspace/plain; cp /workspace/plain /workspace/script; chmod +x /workspace/script")
		for _, row := range []struct {
			program string
			code    int
			says    string
		}{
			{"no-such-program", 127, "no-such-program: not found"},
			{"/no/such/program", 127, "/no/such/program: not found"},
			{"--help", 127, "--help: not found"},
			{"/workspace/plain", 126, ""},
			{"/workspace/d", 126, ""},
		} {
			r := m.run(m.job(row.program), guest.Exited, row.code)
			if !strings.Contains(string(r.Stderr.Data), row.says) || len(r.Stderr.Data) == 0 || len(r.Stdout.Data) > 0 {
				t.Errorf("%s: stdout %q, stderr %q", row.program, r.Stdout.Data, r.Stderr.Data)
			}
		}
		if r := m.run(m.job("/workspace/script"), guest.Exited, 0); string(r.Stdout.Data) != "found\n" {
			t.Errorf("script without a first line: %q", r.Stdout.Data)
		}
	})
}

func TestStreamsApart(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, row := range []struct{ script, stdout, stderr string }{
			{"true", "", ""},
			{"echo out", "out\n", ""},
			{"echo err >&2", "", "err\n"},
			{"echo out; echo err >&2", "out\n", "err\n"},
			{"printf o; printf long-err >&2", "o", "long-err"},
			{"printf long-out; printf e >&2", "long-out", "e"},
			{`printf '\0\1\377\n\n\r\0'`, "\x00\x01\xff\n\n\r\x00", ""},
			// Opening it anew truncates, as it does with every file; nothing else is lost.
			{"echo a longer line; echo again >/dev/stdout; echo more", "again\nmore\n", ""},
			{`printf '==> x <==\n' >&2; printf 'smol1 exited 0 0 0 0 0 /x\n'`, "smol1 exited 0 0 0 0 0 /x\n", "==> x <==\n"},
		} {
			r := m.run(m.job("sh", "-c", row.script), guest.Exited, 0)
			if string(r.Stdout.Data) != row.stdout || string(r.Stderr.Data) != row.stderr {
				t.Errorf("%s: stdout %q, stderr %q", row.script, r.Stdout.Data, r.Stderr.Data)
			}
			if r.StdoutSize != int64(len(row.stdout)) || r.StderrSize != int64(len(row.stderr)) {
				t.Errorf("%s: sizes %d, %d", row.script, r.StdoutSize, r.StderrSize)
			}
		}
	})
}
