package smol_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// FuzzJobArgs: whatever text the arguments of a job are, the command gets it byte for byte, with each shell.
func FuzzJobArgs(f *testing.F) {
	for _, seed := range []string{
		"", "-n", "a b ' \" `id` $(id) $HOME ${x:-y} $$", "back\\slash\\\\n * ~ # ! %s%n\\0\r\n\t\v\x01\x7f\u2028", "ü 漢字 🙂 && rm -rf / ;|<>()\n",
		"cat <<'EOF'\nit's $x\nEOF\n",
	} {
		f.Add(seed, seed+seed)
	}
	l := smoltest.NewLocal(f, nil)
	var machines []*smol.Machine
	for _, image := range simImages {
		m, err := l.Service(f).Create(f.Context(), smol.Spec{Image: image, Network: smol.Network{Open: true}}, nil)
		if err != nil {
			f.Fatal(err)
		}
		machines = append(machines, m)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for i, m := range machines {
			c := m.Command("sh", "-c", `printf '<%s>' "$@" "$E"; printf '%s' "$0" >&2`, b, a, b)
			c.Env = []string{"E=" + a}
			job, err := c.StartJob(t.Context(), &smol.JobOptions{Poll: &smol.PollOptions{Wait: time.Minute, Budget: smol.Budget{Bytes: 1 << 20}}})
			if !utf8.ValidString(a+b) || strings.ContainsRune(a+b, 0) {
				if !errors.Is(err, smol.ErrInvalid) || job != nil {
					t.Errorf("got %v and %v", job, err)
				}
				continue
			}
			if err != nil {
				if errors.Is(err, smol.ErrInvalid) && len(a)+len(b) > 100_000 {
					continue
				}
				t.Fatal(err)
			}
			p := job.First()
			if want := "<" + a + "><" + b + "><" + a + ">"; p.Stdout.String() != want || p.Stderr.String() != b || p.ExitCode != 0 {
				t.Errorf("%s: got %q and %q, want %q and %q", simImages[i], p.Stdout.String(), p.Stderr.String(), want, b)
			}
			if i == 0 {
				if err := job.Remove(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestJobLongScript: a script of a MiB runs, whatever is in it.
func TestJobLongScript(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		text := strings.Repeat("it's \"$HOME\" \\ `x` ü\n", 1<<20/23)
		job, err := m.Shell("cat <<'END'\n"+text+"END\nexit 9").StartJob(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for chunk, err := range job.Output(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got.Write(chunk.Data)
		}
		if p := pollJob(t, job, nil); got.String() != text || p.ExitCode != 9 {
			t.Errorf("got %d of %d bytes, exit code %d", got.Len(), len(text), p.ExitCode)
		}
	})
}
