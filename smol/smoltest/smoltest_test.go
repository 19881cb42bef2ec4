package smoltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// shell answers the few commands of these tests, as the programs of a real machine do.
func shell(ctx context.Context, c *smoltest.Call) int {
	switch strings.Join(c.Argv, " ") {
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
	case "sh -c echo out; echo err >&2; exit 3":
		fmt.Fprintln(c.Stdout, "out")
		fmt.Fprintln(c.Stderr, "err")
		return 3
	case "sh -c echo $GREETING from $PWD":
		fmt.Fprintf(c.Stdout, "%s from %s\n", c.Getenv("GREETING"), c.Dir)
	case "sh -c cat a >b && rm a":
		data, err := c.ReadFile("a")
		if err == nil {
			err = c.WriteFile("b", data, 0o644)
		}
		if err == nil {
			err = c.Remove("a")
		}
		if err != nil {
			fmt.Fprintln(c.Stderr, err)
			return 1
		}
	case "sleep 1000":
		<-ctx.Done()
	case "sh -c trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done":
		caught := make(chan int, 1)
		c.OnSignal(func(n int) { caught <- n })
		fmt.Fprintln(c.Stdout, "ready")
		select {
		case <-ctx.Done():
		case <-caught:
			fmt.Fprintln(c.Stdout, "caught")
			return 5
		}
	default:
		return smoltest.NotFound
	}
	return 0
}

// kinds are the stand-ins that must look the same to a user.
func kinds() map[string]*smoltest.Options {
	return map[string]*smoltest.Options{
		"sandbox":    nil,
		"script":     {Guest: smoltest.Script(shell)},
		"script/tcp": {Guest: smoltest.Script(shell), TCP: true},
	}
}

func each(t *testing.T, f func(t *testing.T, l *smoltest.Local)) {
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) { f(t, smoltest.NewLocal(t, o)) })
	}
}

func create(t *testing.T, l *smoltest.Local, spec smol.Spec) *smol.Machine {
	t.Helper()
	m, err := l.Service(t).Create(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCommands(t *testing.T) {
	each(t, func(t *testing.T, l *smoltest.Local) {
		m := create(t, l, smol.Spec{Name: "m", Env: map[string]string{"GREETING": "hello"}, Dir: "/workspace"})
		out, err := m.Shell("echo $GREETING from $PWD").Output(t.Context())
		if string(out) != "hello from /workspace\n" || err != nil {
			t.Errorf("env and dir: %q, %v", out, err)
		}
		every := make([]byte, 256)
		for n := range every {
			every[n] = byte(n)
		}
		cmd := m.Command("cat")
		cmd.Stdin = strings.NewReader(string(every))
		if out, err = cmd.Output(t.Context()); !cmp.Equal(out, every) || err != nil {
			t.Errorf("bytes: %q, %v", out, err)
		}
		out, err = m.Shell("echo out; echo err >&2; exit 3").CombinedOutput(t.Context())
		var exit *smol.ExitError
		if !errors.As(err, &exit) || exit.Code != 3 || string(out) != "out\nerr\n" {
			t.Errorf("a failing command: %q, %v", out, err)
		}
		if err := m.Command("no-such-program").Run(t.Context()); !errors.As(err, &exit) || exit.Code != 127 {
			t.Errorf("a program that does not exist: %v", err)
		}
		cmd = m.Command("sleep", "1000")
		cmd.Timeout = 50 * time.Millisecond
		if err := cmd.Run(t.Context()); !errors.As(err, &exit) || !exit.TimedOut {
			t.Errorf("a time-out: %v", err)
		}
	})
}

func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, l *smoltest.Local) {
		m := create(t, l, smol.Spec{Name: "m", Dir: "/workspace/src"})
		tree := fstest.MapFS{"a": {Data: []byte("A"), Mode: 0o600}, "sub/x": {Data: []byte("X"), Mode: 0o755}}
		if err := m.CopyFS(t.Context(), "/workspace/src", tree, nil); err != nil {
			t.Fatal(err)
		}
		if err := m.Shell("cat a >b && rm a").Run(t.Context()); err != nil {
			t.Error(err)
		}
		entries, err := m.ReadDir(t.Context(), "/workspace/src")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff([]string{"b", "sub"}, names); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		if data, err := m.ReadFile(t.Context(), "/workspace/src/b"); string(data) != "A" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestSignal(t *testing.T) {
	each(t, func(t *testing.T, l *smoltest.Local) {
		m := create(t, l, smol.Spec{Name: "m"})
		cmd := m.Shell("trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
		r, w := io.Pipe()
		cmd.Stdout = w
		if err := cmd.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ready := make([]byte, len("ready\n"))
		if _, err := io.ReadFull(r, ready); err != nil {
			t.Fatal(err)
		}
		rest := make(chan string, 1)
		go func() {
			b, _ := io.ReadAll(r) // the pipe has no errors of its own
			rest <- string(b)
		}()
		if err := cmd.Signal(t.Context(), smol.Terminate); err != nil {
			t.Error(err)
		}
		err := cmd.Wait()
		w.Close()
		var exit *smol.ExitError
		if got := <-rest; !errors.As(err, &exit) || exit.Code != 5 || got != "caught\n" {
			t.Errorf("after TERM: %q, %v", got, err)
		}
		if err := cmd.Signal(t.Context(), smol.Terminate); !errors.Is(err, smol.ErrConflict) {
			t.Errorf("a signal after the end: %v", err)
		}
	})
}

func TestRestartAndKill(t *testing.T) {
	each(t, func(t *testing.T, l *smoltest.Local) {
		url := l.URL()
		m := create(t, l, smol.Spec{Name: "m"})
		if err := m.WriteFile(t.Context(), "/root/f", []byte("kept"), nil); err != nil {
			t.Fatal(err)
		}
		before, err := m.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, interrupt := range map[string]func(){"restart": func() {}, "kill": l.Kill} {
			interrupt()
			l.Restart()
			info, err := m.Info(t.Context())
			if err != nil || info.State != smol.StateRunning || info.PID != before.PID || l.URL() != url {
				t.Errorf("after a %s: %+v, %v at %s; before process %d at %s", what, info, err, l.URL(), before.PID, url)
			}
			if data, err := m.ReadFile(t.Context(), "/root/f"); string(data) != "kept" || err != nil {
				t.Errorf("after a %s: %q, %v", what, data, err)
			}
		}
		l.Kill()
		l.Kill() // once is enough
		if _, err := m.Info(shortly(t)); !errors.Is(err, smol.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a server that was killed answers: %v", err)
		}
	})
}

func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestBranch(t *testing.T) {
	each(t, func(t *testing.T, l *smoltest.Local) {
		m := create(t, l, smol.Spec{Name: "m", Branchable: true})
		if err := m.WriteFile(t.Context(), "/workspace/f", []byte("both"), nil); err != nil {
			t.Fatal(err)
		}
		child, err := m.Branch(t.Context(), "child", nil)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := child.ReadFile(t.Context(), "/workspace/f"); string(data) != "both" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestFilesOfCall(t *testing.T) {
	tree := make(chan error, 1)
	l := smoltest.NewLocal(t, &smoltest.Options{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
		if c.Argv[0] == "check" {
			tree <- fstest.TestFS(c.FS(), "workspace/d/f", "etc/hostname")
		}
		return 0
	})})
	m := create(t, l, smol.Spec{Name: "m"})
	if err := m.WriteFile(t.Context(), "/workspace/d/f", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Command("check").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-tree; err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	l := smoltest.NewLocal(t, &smoltest.Options{
		Guest: smoltest.Script(shell), Version: "1.22.2",
		Pull: func(_ context.Context, image string) error { return errors.New("no network for " + image) },
	})
	health, err := l.Service(t).Health(t.Context())
	if err != nil || health.Version != "1.22.2" {
		t.Errorf("health: %+v, %v", health, err)
	}
	_, err = l.Service(t).Create(t.Context(), smol.Spec{Name: "m", Image: "alpine", Network: smol.Network{Open: true}}, nil)
	if err == nil || !strings.Contains(err.Error(), "no network for alpine") {
		t.Errorf("an image that cannot be pulled: %v", err)
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// run runs f as a test of its own and returns its failures.
func run(t *testing.T, f func(tb testing.TB)) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for n := len(r.cleanups) - 1; n >= 0; n-- {
				r.cleanups[n]()
			}
		}()
		f(r)
	}()
	<-done
	return r.failures
}

// background starts a command that nobody waits for.
func background(t *testing.T, l *smoltest.Local, argv ...string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"command": argv, "background": true})
	if err != nil {
		t.Fatal(err)
	}
	if status, reply, err := raw(t.Context(), l, "POST", "/api/v1/machines/m/exec", string(body)); err != nil || status != 200 {
		t.Errorf("exec: %d, %s, %v", status, reply, err)
	}
}

// TestLeftoverFails has a function that ignores the end of its context; the test that used it must fail.
func TestLeftoverFails(t *testing.T) {
	release := make(chan struct{})
	got := run(t, func(tb testing.TB) {
		l := smoltest.NewLocal(tb, &smoltest.Options{Guest: smoltest.Script(func(_ context.Context, c *smoltest.Call) int {
			fmt.Fprintln(c.Stdout, "stubborn")
			<-release
			return 0
		})})
		if _, err := l.Service(tb).Create(t.Context(), smol.Spec{Name: "m"}, nil); err != nil {
			t.Error(err)
			return
		}
		background(t, l, "stubborn")
	})
	close(release)
	if len(got) != 1 || !strings.Contains(got[0], "stubborn ignores that its context has ended") {
		t.Errorf("failures: %q", got)
	}
}

func TestCannotStart(t *testing.T) {
	options := func() *smoltest.Options {
		return &smoltest.Options{Guest: smoltest.Script(shell), Version: "one"}
	}
	got := run(t, func(tb testing.TB) { smoltest.NewLocal(tb, options()) })
	if len(got) != 1 || !strings.Contains(got[0], "start the stand-in") {
		t.Errorf("failures: %q", got)
	}
	if l, err := smoltest.StartLocal(options()); err == nil {
		l.Close()
		t.Error("a version that is none was accepted")
	}
}

// TestStartLocal runs a stand-in without a test behind it.
func TestStartLocal(t *testing.T) {
	simtest.Sandbox(t) // or there is nothing to start
	l, err := smoltest.StartLocal(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := l.Service(t).Create(t.Context(), smol.Spec{Name: "m"}, nil)
	if err != nil {
		t.Error(err)
	} else if out, err := m.Shell("id -u").Output(t.Context()); string(out) != "0\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	l.Kill()
	l.Restart()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseRemovesAll looks for what a stand-in leaves in the temporary directory.
func TestCloseRemovesAll(t *testing.T) {
	tmp, err := os.MkdirTemp("", "t") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) {
			l := smoltest.NewLocal(t, o)
			create(t, l, smol.Spec{Name: "m"})
			background(t, l, "sleep", "1000")
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Errorf("a second close: %v", err)
			}
		})
		if left, err := filepath.Glob(filepath.Join(tmp, "smol*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}
