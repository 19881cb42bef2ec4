package smol_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// simImages are one machine with each shell.
var simImages = []string{"busybox", "dash", "bash"}

// fleetShells are the images for a dear test of a fleet: two on the one and the third on the other, and all of them on both in a soak.
func fleetShells(fleet string) []string {
	switch {
	case rounds.N(1) > 1:
		return simImages
	case fleet == "local":
		return simImages[:2]
	}
	return simImages[2:]
}

// simMachine starts a stand-in and creates a machine on it.
func simMachine(t *testing.T, spec smol.Spec) (*smoltest.Local, *smol.Fleet, *smol.Machine) {
	t.Helper()
	l := smoltest.NewLocal(t, nil)
	fleet := l.Service(t).Fleet
	spec.Network.Open = true // the service wants it for an image
	m, err := fleet.Create(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, fleet, m
}

// onShells runs the test on a machine with each shell.
func onShells(t *testing.T, spec smol.Spec, test func(t *testing.T, l *smoltest.Local, m *smol.Machine)) {
	for _, image := range simImages {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			spec := spec
			spec.Image = image
			l, _, m := simMachine(t, spec)
			test(t, l, m)
		})
	}
}

// execs is how many commands the service was asked to run.
func execs(l *smoltest.Local) int { return l.Count("POST", "/api/v1/machines/*/exec") }

func TestSimCommand(t *testing.T) {
	spec := smol.Spec{Env: map[string]string{"FROM_SPEC": "it's \"here\"\n", "BOTH": "spec"}, Dir: "/var"}
	onShells(t, spec, func(t *testing.T, l *smoltest.Local, m *smol.Machine) {
		l.ForgetRequests()
		c := m.Shell(`printf '%s|' "$FROM_SPEC" "$BOTH" "$OWN" "$PWD"; printf err >&2; exit 7`)
		c.Env = []string{"OWN=ü $x", "BOTH=own"}
		out, err := c.Output(t.Context())
		var exit *smol.ExitError
		if !errors.As(err, &exit) || exit.Code != 7 || string(exit.Stderr) != "err" {
			t.Errorf("got %v", err)
		}
		if want := "it's \"here\"\n|own|ü $x|/var|"; string(out) != want {
			t.Errorf("got %q, want %q", out, want)
		}
		if n := execs(l); n != 1 {
			t.Errorf("%d execs, want 1", n)
		}
		// Another handle, made from the name alone, gives its commands the same.
		other := l.Service(t).Machine(m.Name())
		c = other.Command("sh", "-c", `echo "$BOTH" "$PWD"`)
		c.Dir = "/tmp"
		if out, err := c.Output(t.Context()); err != nil || string(out) != "spec /tmp\n" {
			t.Errorf("another handle: got %q and %v", out, err)
		}
	})
}

func TestSimExactBytes(t *testing.T) {
	all := make([]byte, 1<<20+17)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(all)
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		sizes := []int{0, 1, 256<<10 + 1, len(all)}
		if !strings.HasSuffix(t.Name(), simImages[0]) && rounds.N(1) == 1 {
			sizes = sizes[1:3]
		}
		for _, size := range sizes {
			c := m.Shell("cat; printf '\\377\\000' >&2")
			c.Stdin = bytes.NewReader(all[:size])
			var stdout, stderr bytes.Buffer
			c.Stdout, c.Stderr = &stdout, &stderr
			if err := c.Run(t.Context()); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if !bytes.Equal(stdout.Bytes(), all[:size]) || stderr.String() != "\xff\x00" {
				t.Errorf("%d bytes: got %d on stdout, %q on stderr", size, stdout.Len(), &stderr)
			}
		}
		if out, err := m.Command("cat").Output(t.Context()); err != nil || len(out) != 0 {
			t.Errorf("without input: got %q and %v", out, err)
		}
		out, err := m.Shell("ls -A /workspace/.smol/.files | wc -l").Output(t.Context())
		if err != nil || strings.TrimSpace(string(out)) != "0" {
			t.Errorf("input left behind: %q and %v", out, err)
		}
	})
}

// TestSimLongOutput: more than any limit of the wire arrives exactly, as files where the service gives them and with polls where not.
func TestSimLongOutput(t *testing.T) {
	l, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	for _, size := range []int{min(rounds.N(9), 40) << 20, 2<<20 + 1} {
		sum := sha256.New()
		var said bytes.Buffer
		c := m.Shell(fmt.Sprintf("base64 /dev/urandom | head -c %d >/tmp/x; cat /tmp/x; sha256sum </tmp/x >&2", size))
		c.Stdout, c.Stderr = sum, &said
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); !strings.HasPrefix(said.String(), got) {
			t.Errorf("%d bytes: the output has the sum %s, in the machine it is %s", size, got, &said)
		}
		l.Fault(smoltest.Fault{Method: "GET", Path: "files/", Action: smoltest.Cut, After: 1000})
	}
}

func TestSimCombinedOutputInOrder(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		out, err := m.Shell("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done").CombinedOutput(t.Context())
		if want := "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n"; err != nil || string(out) != want {
			t.Errorf("got %q and %v", out, err)
		}
	})
}

func TestSimLongArguments(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		arg := strings.Repeat("x'\"\n$ü ", 10_000)
		out, err := m.Command("printf", "%s", arg, arg, arg).Output(t.Context())
		if err != nil || string(out) != arg+arg+arg {
			t.Errorf("arguments of %d bytes: got %d bytes and %v", 3*len(arg), len(out), err)
		}
		script := "x='" + strings.Repeat("y", 1<<20) + "'; echo ${#x} >&2"
		out, err = m.Shell(script).CombinedOutput(t.Context())
		if err != nil || string(out) != "1048576\n" {
			t.Errorf("a script of a MiB: got %.100q and %v", out, err)
		}
		_, err = m.Command("printf", "%s", strings.Repeat("x", 1<<20)).CombinedOutput(t.Context())
		if !errors.Is(err, smol.ErrInvalid) || !strings.Contains(err.Error(), "Cmd.Args[2]") {
			t.Errorf("an argument of a MiB: got %v, want an invalid error that names it", err)
		}
	})
}

// TestSimStreams: output comes while the command runs.
func TestSimStreams(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		r, w := io.Pipe()
		c := m.Shell("echo first; until [ -e /tmp/go ]; do sleep 0.05; done; echo last")
		c.Stdout = w
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 6)
		if _, err := io.ReadFull(r, line); err != nil || string(line) != "first\n" {
			t.Fatalf("got %q and %v", line, err)
		}
		if err := m.Command("touch", "/tmp/go").Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() { _ = w.CloseWithError(c.Wait()) }()
		if rest, err := io.ReadAll(r); err != nil || string(rest) != "last\n" {
			t.Errorf("got %q and %v", rest, err)
		}
	})
}

// TestSimChattyOutputIsCheap: output that nobody looks at before the end costs no calls while it comes.
func TestSimChattyOutputIsCheap(t *testing.T) {
	l, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	l.ForgetRequests()
	out, err := m.Shell("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; done").Output(t.Context())
	if err != nil || string(out) != "1\n2\n3\n4\n5\n6\n7\n8\n9\n" {
		t.Errorf("got %q and %v", out, err)
	}
	if n := execs(l); n != 1 {
		t.Errorf("%d execs, want 1", n)
	}
}

func TestSimUserIsRefused(t *testing.T) {
	_, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	c := m.Command("id")
	c.User = "nobody"
	if err := c.Run(t.Context()); !errors.Is(err, errors.ErrUnsupported) || c.State != nil {
		t.Errorf("got %v, want errors.ErrUnsupported", err)
	}
}

// gone fails unless the process with the pid is gone from the machine, or goes within ten seconds.
func gone(t *testing.T, m *smol.Machine, pid string) {
	t.Helper()
	script := `i=0; while kill -0 "$1" 2>/dev/null; do [ $((i+=1)) -lt 200 ] || exit 1; sleep 0.05; done`
	if err := m.Command("sh", "-c", script, "sh", strings.TrimSpace(pid)).Run(t.Context()); err != nil {
		t.Errorf("process %q is still there: %v", pid, err)
	}
}

// started runs a command that prints a pid, and returns that once it is there.
func started(t *testing.T, ctx context.Context, c *smol.Cmd) (pid string) {
	t.Helper()
	r, w := io.Pipe()
	c.Stdout = w
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(b.String(), "\n"); b.Write(one) {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	t.Cleanup(func() { w.Close() })
	return b.String()
}

func TestSimCancelKills(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		ctx, cancel := context.WithCancel(t.Context())
		// A grandchild in a session of its own is killed too.
		c := m.Shell("setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000")
		pid := started(t, ctx, c)
		cancel()
		if err := c.Wait(); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "may still run") {
			t.Errorf("got %v", err)
		}
		gone(t, m, pid)
	})
}

func TestSimTimeoutKills(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		c := m.Shell("sh -c 'echo $$; exec sleep 1000' & wait")
		c.Timeout = time.Second
		pid := started(t, t.Context(), c)
		err := c.Wait()
		var exit *smol.ExitError
		if !errors.As(err, &exit) || !exit.TimedOut || exit.Code != 124 {
			t.Errorf("got %v", err)
		}
		gone(t, m, pid)
	})
}

func TestSimSignal(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, _ *smoltest.Local, m *smol.Machine) {
		c := m.Shell(`trap 'echo got it; exit 5' INT; echo $$; while :; do sleep 0.05; done`)
		started(t, t.Context(), c)
		if err := c.Signal(t.Context(), smol.Interrupt); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		var exit *smol.ExitError
		if !errors.As(err, &exit) || exit.Code != 5 || exit.Signal != "" {
			t.Errorf("trapped: got %v", err)
		}
		if err := c.Signal(t.Context(), smol.Interrupt); !errors.Is(err, smol.ErrConflict) {
			t.Errorf("after the end: got %v", err)
		}
		c = m.Shell("echo $$; exec sleep 1000")
		started(t, t.Context(), c)
		if err := c.Signal(t.Context(), smol.Terminate); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); !errors.As(err, &exit) || exit.Signal != smol.Terminate || exit.Code != 143 {
			t.Errorf("not trapped: got %v", err)
		}
	})
}

// TestSimManyAtOnce: 64 commands at once on 8 machines, and no machine takes it amiss.
func TestSimManyAtOnce(t *testing.T) {
	l := smoltest.NewLocal(t, nil)
	fleet := l.Service(t).Fleet
	const machines, each = 8, 8
	handles := make([]*smol.Machine, machines)
	var wg sync.WaitGroup
	for i := range handles {
		wg.Go(func() {
			m, err := fleet.Create(t.Context(), smol.Spec{Name: fmt.Sprintf("m%d", i)}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			handles[i] = m
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for range rounds.N(1) {
		for i := range machines * each {
			wg.Go(func() {
				// Half of the handles are others of the same machine: the limit is the machine's.
				m := handles[i%machines]
				if i%2 == 0 {
					m = fleet.Machine(m.Name())
				}
				want := fmt.Sprintf("%d\n", i)
				out, err := m.Shell(fmt.Sprintf("sleep 0.%d; echo %d", i%4, i)).Output(t.Context())
				if err != nil || string(out) != want {
					t.Errorf("command %d: got %q and %v", i, out, err)
				}
			})
		}
		wg.Wait()
	}
	for _, m := range handles {
		if n := l.Reboots(m.Name()); n != 0 {
			t.Errorf("%s was rebooted %d times", m.Name(), n)
		}
	}
}

// TestSimSlowReader: whoever does not take his output holds up nobody, not even with more commands than the machine has places.
func TestSimSlowReader(t *testing.T) {
	l, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	const size = 1 << 19 // more than one reply
	if err := m.Shell(fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x >/tmp/x`, size)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	readers := make([]*io.PipeReader, 8)
	cmds := make([]*smol.Cmd, len(readers))
	for i := range readers {
		r, w := io.Pipe()
		readers[i], cmds[i] = r, m.Command("cat", "/tmp/x")
		cmds[i].Stdout = w
		if err := cmds[i].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if out, err := m.Command("echo", "hi").Output(t.Context()); err != nil || string(out) != "hi\n" {
			t.Errorf("got %q and %v", out, err)
		}
	}
	for i, r := range readers {
		go func() { _ = cmds[i].Stdout.(*io.PipeWriter).CloseWithError(cmds[i].Wait()) }()
		if n, err := io.Copy(io.Discard, r); err != nil || n != size {
			t.Errorf("reader %d: %d bytes and %v", i, n, err)
		}
	}
	if n := l.Reboots(m.Name()); n != 0 {
		t.Errorf("rebooted %d times", n)
	}
}
