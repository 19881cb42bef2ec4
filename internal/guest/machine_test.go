package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// patience bounds what must happen soon.
const patience = 20 * time.Second

// whole is the view that waits for the end and returns everything.
var whole = guest.View{Wait: patience, Budget: 1 << 20}

// onEachShell runs the test in a machine of each shell that the runner has to work with.
func onEachShell(t *testing.T, test func(t *testing.T, m *machine)) {
	onShells(t, []string{"busybox", "dash", "bash"}, test)
}

func onShells(t *testing.T, images []string, test func(t *testing.T, m *machine)) {
	for _, image := range images {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			test(t, boot(t, image))
		})
	}
}

// machine is a machine of the sandbox that requests of the runner are sent to.
type machine struct {
	sim.Instance
	t     *testing.T
	guest sim.Guest
	boot  sim.Boot
	bases []string
	env   []string // of every exec; nil: the machine's
	user  string
	ids   atomic.Int64
}

func boot(t *testing.T, image string) *machine {
	t.Helper()
	m := &machine{
		t: t, guest: simtest.Sandbox(t), bases: []string{guest.BaseWorkspace, guest.BaseFallback},
		boot: sim.Boot{Dir: filepath.Join(t.TempDir(), "m"), Name: "m", Image: image},
	}
	m.up()
	t.Cleanup(func() {
		if err := errors.Join(m.Kill(), m.guest.Remove(m.boot.Dir)); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *machine) up() {
	m.t.Helper()
	var err error
	if m.Instance, err = m.guest.Boot(m.t.Context(), &m.boot); err != nil {
		m.t.Fatal(err)
	}
}

// restart pulls the plug and boots the machine again.
func (m *machine) restart() {
	m.t.Helper()
	if err := m.Kill(); err != nil {
		m.t.Fatal(err)
	}
	m.up()
}

// begin starts a command as a service does that waits until everybody has closed its output.
func (m *machine) begin(argv []string) (p sim.Process, stdout *bytes.Buffer) {
	m.t.Helper()
	stdout = new(bytes.Buffer)
	p, err := m.Start(context.WithoutCancel(m.t.Context()), &sim.Command{
		Argv: argv, Env: m.env, User: m.user, Stdout: stdout, Stderr: stdout, WaitOutput: -1,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return p, stdout
}

// exec runs a command to its end and returns what it wrote. A process that keeps the pipes of the exec open fails the test.
func (m *machine) exec(argv []string) []byte {
	m.t.Helper()
	p, stdout := m.begin(argv)
	done := make(chan error, 1)
	go func() {
		_, err := p.Wait()
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			m.t.Fatal(err)
		}
	case <-time.After(2 * patience):
		m.t.Fatalf("the exec does not return: %.200q", argv)
	}
	return stdout.Bytes()
}

// sh runs a script outside of the runner.
func (m *machine) sh(script string) string {
	m.t.Helper()
	return strings.TrimSuffix(string(m.exec([]string{"sh", "-c", script})), "\n")
}

func (m *machine) reply(argv []string, v guest.View) (*guest.Reply, error) {
	m.t.Helper()
	return guest.ParseReply(m.exec(argv), v)
}

// job returns a start of a new job that is waited for.
func (m *machine) job(argv ...string) *guest.Start {
	id := fmt.Sprintf("%s-%d", guest.NewID(time.Now()), m.ids.Add(1))
	return &guest.Start{ID: id, Bases: m.bases, Argv: argv, View: whole}
}

func (m *machine) start(s *guest.Start) *guest.Reply {
	m.t.Helper()
	argv, files, err := s.Command()
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range files {
		if _, err := m.WriteFile(f.Path, bytes.NewReader(f.Data)); err != nil {
			m.t.Fatal(err)
		}
	}
	r, err := m.reply(argv, s.View)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// run starts a job and fails the test if it does not end so.
func (m *machine) run(s *guest.Start, state guest.State, code int) *guest.Reply {
	m.t.Helper()
	return m.want(m.start(s), state, code)
}

func (m *machine) want(r *guest.Reply, state guest.State, code int) *guest.Reply {
	m.t.Helper()
	if r.State != state || r.Code != code {
		m.t.Fatalf("%s %d, want %s %d; stdout %.200q, stderr %.200q", r.State, r.Code, state, code, r.Stdout.Data, r.Stderr.Data)
	}
	return r
}

// output runs a shell command as a job and returns its standard output.
func (m *machine) output(script string) string {
	m.t.Helper()
	return string(m.run(m.job("sh", "-c", script), guest.Exited, 0).Stdout.Data)
}

func (m *machine) tryPoll(id string, v guest.View) (*guest.Reply, error) {
	m.t.Helper()
	argv, err := (&guest.Poll{ID: id, Bases: m.bases, View: v}).Command()
	if err != nil {
		m.t.Fatal(err)
	}
	return m.reply(argv, v)
}

func (m *machine) poll(id string, v guest.View) *guest.Reply {
	m.t.Helper()
	r, err := m.tryPoll(id, v)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func (m *machine) signal(id, name string) *guest.Reply {
	m.t.Helper()
	argv, err := (&guest.Signal{ID: id, Bases: m.bases, Signal: name}).Command()
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := m.reply(argv, guest.View{})
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func (m *machine) setup(env map[string]string, dir string) *guest.Reply {
	m.t.Helper()
	argv, err := (&guest.Setup{Bases: m.bases, Env: env, Dir: dir}).Command()
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := m.reply(argv, guest.View{})
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// background starts a job and waits until it has said "go".
func (m *machine) background(s *guest.Start) *guest.Reply {
	m.t.Helper()
	s.View = guest.View{Wait: patience, News: true, Budget: 100}
	r := m.start(s)
	if string(r.Stdout.Data) != "go\n" || r.State != guest.Running {
		m.t.Fatalf("%+v", r)
	}
	return r
}

// eventually waits until the condition holds in the machine.
func (m *machine) eventually(what string, holds func() bool) {
	m.t.Helper()
	late := time.After(patience)
	again := time.NewTicker(25 * time.Millisecond) // what is waited for needs the processor, too
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late:
			m.t.Fatalf("it does not come: %s", what)
		}
	}
}

// commands returns the command lines of all processes that a job may have.
func (m *machine) commands() []string {
	m.t.Helper()
	out := m.sh(`head -n 1 /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' '`) // with headings, in lines of their own
	lines := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
	return slices.DeleteFunc(lines, func(s string) bool { return !strings.Contains(s, "sleep") && !strings.Contains(s, "smol-job") })
}

// quiet fails the test if anything of a job is left running.
func (m *machine) quiet() {
	m.t.Helper()
	var left []string
	m.eventually("the end of all processes", func() bool {
		left = m.commands()
		return len(left) == 0
	})
}

func itoa(n int) string { return strconv.Itoa(n) }
