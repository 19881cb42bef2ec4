package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

var bases = []string{guest.BaseWorkspace, guest.BaseFallback}

// view waits long enough for anything that ends at all, and returns all there is.
var view = guest.View{Wait: 10 * time.Second, Budget: 1 << 20}

// ask runs the library's argv as a plain exec and reads the reply.
func ask(t *testing.T, in sim.Instance, argv []string, v guest.View) (*guest.Reply, error) {
	t.Helper()
	var out, errs bytes.Buffer
	p, err := in.Start(t.Context(), &sim.Command{Argv: argv, Stdout: &out, Stderr: &errs})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if errs.Len() > 0 {
		t.Errorf("the runner complains: %s", errs.String())
	}
	return guest.ParseReply(out.Bytes(), v)
}

// startJob starts a job, with its files where the library would have put them.
func startJob(t *testing.T, in sim.Instance, s *guest.Start) *guest.Reply {
	t.Helper()
	if s.Bases == nil {
		s.Bases = bases
	}
	argv, files, err := s.Command()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := in.WriteFile(f.Path, bytes.NewReader(f.Data)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ask(t, in, argv, s.View)
	if err != nil {
		t.Fatalf("start %s: %v", s.ID, err)
	}
	return r
}

func pollJob(t *testing.T, in sim.Instance, id string, v guest.View) (*guest.Reply, error) {
	t.Helper()
	argv, err := (&guest.Poll{ID: id, Bases: bases, View: v}).Command()
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, in, argv, v)
}

func signalJob(t *testing.T, in sim.Instance, id, signal string) *guest.Reply {
	t.Helper()
	argv, err := (&guest.Signal{ID: id, Bases: bases, Signal: signal}).Command()
	if err != nil {
		t.Fatal(err)
	}
	r, err := ask(t, in, argv, guest.View{})
	if err != nil {
		t.Fatalf("signal %s: %v", id, err)
	}
	return r
}

func setup(t *testing.T, in sim.Instance, s *guest.Setup) *guest.Reply {
	t.Helper()
	s.Bases = bases
	argv, err := s.Command()
	if err != nil {
		t.Fatal(err)
	}
	r, err := ask(t, in, argv, guest.View{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func exists(in sim.Instance, name string) bool {
	f, _, err := in.ReadFile(name)
	if err != nil {
		return errors.Is(err, sim.ErrNotRegular)
	}
	f.Close()
	return true
}

func TestJobs(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	if _, err := in.WriteFile("/workspace/.smol/in", strings.NewReader("fed")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long ", 40<<10)
	rows := []struct {
		id             string
		s              guest.Start
		state          guest.State
		code           int
		stdout, stderr string
	}{
		{id: "echo", s: guest.Start{Argv: []string{"echo", "hi", "ü"}}, state: guest.Exited, stdout: "hi ü\n"},
		{id: "code", s: guest.Start{Argv: []string{"exit"}}, state: guest.Exited, code: 44},
		{id: "none", s: guest.Start{Argv: []string{"nope"}}, state: guest.Exited, code: 127, stderr: "sh: nope: not found\n"},
		{id: "true", s: guest.Start{Argv: []string{"true"}}, state: guest.Exited},
		{id: "stdin", s: guest.Start{Argv: []string{"cat"}, Stdin: "/workspace/.smol/in"}, state: guest.Exited, stdout: "fed"},
		{id: "null", s: guest.Start{Argv: []string{"cat"}}, state: guest.Exited},
		{id: "dir", s: guest.Start{Argv: []string{"id"}, Dir: "/etc"}, state: guest.Exited, stdout: " in /etc\n"},
		{id: "nodir", s: guest.Start{Argv: []string{"id"}, Dir: "/nope"}, state: guest.Exited, code: 126, stderr: "cd: /nope: cannot be entered\n"},
		{id: "late", s: guest.Start{Argv: []string{"forever"}, Timeout: 50 * time.Millisecond}, state: guest.TimedOut, code: 124, stdout: "running\n"},
		{
			id: "merged", s: guest.Start{Argv: []string{"sh", "-c", `exec "$@" 2>&1`, "sh", "write", "/nope/x", "x"}}, state: guest.Exited, code: 1,
			stdout: "open /nope/x: no such file or directory\n",
		},
		{id: "long", s: guest.Start{Argv: []string{"echo", long[:100<<10], long[:100<<10]}}, state: guest.Exited, stdout: long[:100<<10] + " " + long[:100<<10] + "\n"},
	}
	for _, r := range rows {
		r.s.ID, r.s.View = r.id, view
		got := startJob(t, in, &r.s)
		if got.State != r.state || got.Code != r.code || string(got.Stdout.Data) != r.stdout || string(got.Stderr.Data) != r.stderr {
			t.Errorf("%s: %s %d, %.99q, %.99q; want %s %d, %.99q, %.99q", r.id, got.State, got.Code, got.Stdout.Data, got.Stderr.Data, r.state, r.code, r.stdout, r.stderr)
		}
		if got.Base != guest.BaseWorkspace || !exists(in, got.Base+"/"+r.id+".out") {
			t.Errorf("%s: its output is not in %s", r.id, got.Base)
		}
		if exists(in, got.Base+"/"+r.id+".args") {
			t.Errorf("%s: the file of its arguments is left", r.id)
		}
	}
	if exists(in, "/workspace/.smol/in") {
		t.Error("the file of the input is left")
	}
}

// TestLongScript runs sh -c with a text that is too long for an argument, which comes as a file.
func TestLongScript(t *testing.T) {
	in := boot(t, script.New(func(_ context.Context, c *script.Call) int {
		fmt.Fprint(c.Stdout, len(c.Argv), " ", len(c.Argv[2]), " ", c.Argv[2][:5])
		return 0
	}), nil)
	text := "true " + strings.Repeat("#", guest.MaxArg)
	r := startJob(t, in, &guest.Start{ID: "j", Argv: []string{"sh", "-c", text}, View: view})
	if want := fmt.Sprint(3, " ", len(text), " true "); string(r.Stdout.Data) != want {
		t.Errorf("the function was called with %q, want %q", r.Stdout.Data, want)
	}
}

func TestSetup(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	if r := setup(t, in, &guest.Setup{}); r.State != guest.Ready || r.Base != guest.BaseWorkspace {
		t.Errorf("setup: %+v", r)
	}
	setup(t, in, &guest.Setup{Env: map[string]string{"A": "stored", "B": "stored"}, Dir: "/home"})
	setup(t, in, &guest.Setup{}) // replaces nothing
	r := startJob(t, in, &guest.Start{ID: "env", Argv: []string{"env"}, Env: []string{"B=own"}, View: view})
	want := "HOME=/root\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nTERM=xterm-256color\nA=stored\nB=own\nSMOL_JOB=env\n"
	if diff := cmp.Diff(want, string(r.Stdout.Data)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for n, row := range [][2]string{{"", " in /home\n"}, {"/etc", " in /etc\n"}} {
		dir, want := row[0], row[1]
		r := startJob(t, in, &guest.Start{ID: fmt.Sprint("dir", n), Argv: []string{"id"}, Dir: dir, View: view})
		if string(r.Stdout.Data) != want {
			t.Errorf("with dir %q: %q, want %q", dir, r.Stdout.Data, want)
		}
	}
	setup(t, in, &guest.Setup{Env: map[string]string{}})
	r = startJob(t, in, &guest.Start{ID: "gone", Argv: []string{"env"}, View: view})
	if strings.Contains(string(r.Stdout.Data), "stored") {
		t.Errorf("an empty environment did not replace what was stored: %s", r.Stdout.Data)
	}
}

func TestJobSignals(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	rows := []struct {
		program, signal string
		state           guest.State
		code            int
	}{
		{"forever", "KILL", guest.Signaled, 137},
		{"forever", "TERM", guest.Signaled, 143},
		{"forever", "INT", guest.Signaled, 130},
		{"polite", "INT", guest.Exited, 7},
		{"polite", "KILL", guest.Signaled, 137},
	}
	for n, r := range rows {
		id := fmt.Sprint("j", n)
		got := startJob(t, in, &guest.Start{ID: id, Argv: []string{r.program}, View: guest.View{Wait: 10 * time.Second, News: true, Budget: 99}})
		if got.State != guest.Running || string(got.Stdout.Data) != "running\n" {
			t.Fatalf("%s: before the signal %s, %q", r.program, got.State, got.Stdout.Data)
		}
		signalJob(t, in, id, r.signal)
		got, err := pollJob(t, in, id, view)
		if err != nil || got.State != r.state || got.Code != r.code {
			t.Errorf("%s after %s: %+v, %v; want %s %d", r.program, r.signal, got, err, r.state, r.code)
		}
		if again := signalJob(t, in, id, "KILL"); again.State != r.state || again.Code != r.code {
			t.Errorf("%s: a late signal changed its end to %+v", r.program, again)
		}
	}
}

func TestStoppedJob(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	startJob(t, in, &guest.Start{ID: "j", Argv: []string{"tick"}, View: guest.View{Wait: 10 * time.Second, News: true}})
	signalJob(t, in, "j", "STOP")
	size := func() int64 {
		r, err := pollJob(t, in, "j", guest.View{})
		if err != nil || r.State != guest.Running {
			t.Fatalf("a stopped job: %+v, %v", r, err)
		}
		return r.StdoutSize
	}
	size() // the write that was under way
	if a, b := size(), size(); a != b {
		t.Errorf("a stopped job writes: %d, then %d bytes", a, b)
	}
	at := size()
	signalJob(t, in, "j", "CONT")
	r, err := pollJob(t, in, "j", guest.View{Wait: 10 * time.Second, News: true, Stdout: at})
	if err != nil || r.StdoutSize <= at {
		t.Errorf("after CONT: %+v, %v", r, err)
	}
	signalJob(t, in, "j", "STOP")
	if r := signalJob(t, in, "j", "TERM"); r.State != guest.Signaled || r.Code != 143 {
		t.Errorf("TERM to a stopped job: %+v", r)
	}
}

func TestTakenID(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	if r := signalJob(t, in, "early", "KILL"); r.State != guest.Signaled || r.Code != 137 {
		t.Errorf("a kill before the start: %+v", r)
	}
	r := startJob(t, in, &guest.Start{ID: "early", Argv: []string{"write", "/workspace/ran", "x"}, View: view})
	if r.State != guest.Signaled || exists(in, "/workspace/ran") {
		t.Errorf("a job whose id was taken by a kill: %+v", r)
	}
	if _, err := pollJob(t, in, "never", view); !errors.Is(err, guest.ErrNoJob) {
		t.Errorf("a job that was never started: %v", err)
	}
}

// TestStartTwice starts one id from many sides at once: one run, equal replies.
func TestStartTwice(t *testing.T) {
	var mu sync.Mutex
	runs := 0
	in := boot(t, script.New(func(_ context.Context, c *script.Call) int {
		mu.Lock()
		defer mu.Unlock()
		runs++
		fmt.Fprintf(c.Stdout, "run %d\n", runs)
		return 5
	}), nil)
	argv, _, err := (&guest.Start{ID: "one", Bases: bases, Argv: []string{"count"}, View: view}).Command()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			r, err := ask(t, in, argv, view)
			if err != nil || r.State != guest.Exited || r.Code != 5 || string(r.Stdout.Data) != "run 1\n" {
				t.Errorf("reply %+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

func TestViews(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	startJob(t, in, &guest.Start{ID: "j", Argv: []string{"echo", "0123456789"}, View: view})
	rows := []struct {
		v    guest.View
		want guest.Part
	}{
		{guest.View{Budget: 100}, guest.Part{Data: []byte("0123456789\n")}},
		{guest.View{Budget: 4}, guest.Part{Data: []byte("0123")}},
		{guest.View{Budget: 4, Stdout: 8}, guest.Part{Offset: 8, Data: []byte("89\n")}},
		{guest.View{Budget: 4, Stdout: 99}, guest.Part{Offset: 99}},
		{guest.View{Budget: 6, Clip: true}, guest.Part{Data: []byte("01239\n"), Head: 4, Dropped: 5}},
		{guest.View{Budget: 6, Clip: true, Stdout: 5}, guest.Part{Offset: 5, Data: []byte("56789\n")}},
		{guest.View{}, guest.Part{}},
	}
	for _, r := range rows {
		got, err := pollJob(t, in, "j", r.v)
		if err != nil {
			t.Fatal(err)
		}
		if got.StdoutSize != 11 || !bytes.Equal(got.Stdout.Data, r.want.Data) || got.Stdout.Head != r.want.Head || got.Stdout.Dropped != r.want.Dropped {
			t.Errorf("%+v: %+v, want %+v", r.v, got.Stdout, r.want)
		}
	}
}

func TestAck(t *testing.T) {
	in := boot(t, script.New(programs), nil)
	startJob(t, in, &guest.Start{ID: "done", Argv: []string{"echo"}, View: view})
	startJob(t, in, &guest.Start{ID: "busy", Argv: []string{"forever"}, View: guest.View{}})
	startJob(t, in, &guest.Start{ID: "next", Argv: []string{"echo"}, View: view, Ack: []string{"done", "busy", "unknown"}})
	if _, err := pollJob(t, in, "done", view); !errors.Is(err, guest.ErrNoJob) {
		t.Errorf("a job that was acknowledged: %v", err)
	}
	if exists(in, "/workspace/.smol/done.out") {
		t.Error("its output is left")
	}
	if r, err := pollJob(t, in, "busy", guest.View{}); err != nil || r.State != guest.Running {
		t.Errorf("a job that runs went with the acknowledged: %+v, %v", r, err)
	}
}

// TestJobsAfterRestart looks at jobs after their machine has been stopped and started.
func TestJobsAfterRestart(t *testing.T) {
	g := script.New(programs)
	b := &sim.Boot{Dir: filepath.Join(t.TempDir(), "state"), Name: "m"}
	in := boot(t, g, b)
	startJob(t, in, &guest.Start{ID: "done", Argv: []string{"exit"}, View: view})
	startJob(t, in, &guest.Start{ID: "busy", Argv: []string{"forever"}, View: guest.View{Wait: 10 * time.Second, News: true}})
	if err := in.Kill(); err != nil {
		t.Fatal(err)
	}
	in = boot(t, g, b)
	if r, err := pollJob(t, in, "done", view); err != nil || r.State != guest.Exited || r.Code != 44 {
		t.Errorf("a job that had ended: %+v, %v", r, err)
	}
	if r, err := pollJob(t, in, "busy", view); err != nil || r.State != guest.Lost || string(r.Stdout.Data) != "running\n" {
		t.Errorf("a job that ran: %+v, %v", r, err)
	}
}

func TestNoBase(t *testing.T) {
	ro := sim.Mount{Source: t.TempDir(), Target: "/workspace", ReadOnly: true}
	in := boot(t, script.New(programs), &sim.Boot{Name: "m", Mounts: []sim.Mount{ro}})
	if r := startJob(t, in, &guest.Start{ID: "j", Argv: []string{"echo", "x"}, View: view}); r.Base != guest.BaseFallback {
		t.Errorf("the base is %s", r.Base)
	}
	argv, _, err := (&guest.Start{ID: "k", Bases: bases[:1], Argv: []string{"echo"}, View: view}).Command()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, in, argv, view); !errors.Is(err, guest.ErrNoBase) {
		t.Errorf("no base can be written: %v", err)
	}
}
