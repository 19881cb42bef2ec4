package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/script"
)

// hostPrograms do what programs of the host do that the jobs below run.
func hostPrograms(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
	case "pwd":
		fmt.Fprintln(c.Stdout, c.Dir)
	case "printenv":
		fmt.Fprintln(c.Stdout, c.Getenv(c.Argv[1]))
	case "sleep":
		<-ctx.Done()
	case "sh":
		fmt.Fprint(c.Stderr, "oops")
		return 44
	default:
		return script.NotFound
	}
	return 0
}

// request is what guest.Parse reads.
type request interface{ Command() ([]string, error) }

type starter struct{ *guest.Start }

func (s starter) Command() ([]string, error) {
	argv, _, err := s.Start.Command()
	return argv, err
}

// TestRunnerAsTheScript asks the same of the real runner, in a directory of the host, and of a machine, and compares the replies.
func TestRunnerAsTheScript(t *testing.T) {
	d := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(d, 0o755); err != nil {
		t.Fatal(err)
	}
	in := boot(t, script.New(hostPrograms), nil)
	exec(t, in, &sim.Command{Argv: (&guest.FileMkdir{Path: d, Mode: 0o755}).Argv()})
	for name, data := range map[string]string{"in1": "fed", "file": "no directory"} {
		if err := os.WriteFile(filepath.Join(d, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := in.WriteFile(d+"/"+name, strings.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	bases := []string{d + "/file/x", d + "/base"}
	all := guest.View{Wait: 20 * time.Second, Budget: 1 << 20}
	now := guest.View{Budget: 1 << 20}
	start := func(id string, v guest.View, argv ...string) starter {
		return starter{&guest.Start{ID: id, Bases: bases, Argv: argv, View: v}}
	}
	with := func(s starter, change func(s *guest.Start)) starter {
		change(s.Start)
		return s
	}
	poll := func(id string, v guest.View) request { return &guest.Poll{ID: id, Bases: bases, View: v} }
	signal := func(id, name string) request { return &guest.Signal{ID: id, Bases: bases, Signal: name} }
	steps := []request{
		&guest.Setup{Bases: bases},
		&guest.Setup{Bases: bases[:1]},
		poll("nobody", all),
		start("a-echo", all, "echo", "0123456789", "ü"),
		start("a-echo", all, "echo", "again"),
		poll("a-echo", guest.View{Budget: 4}), poll("a-echo", guest.View{Budget: 6, Clip: true}), poll("a-echo", guest.View{Budget: 4, Stdout: 3}),
		poll("a-echo", guest.View{Budget: 9, Stdout: 14}), poll("a-echo", guest.View{Budget: 9, Stdout: 99}), poll("a-echo", guest.View{}),
		start("b-code", all, "sh", "-c", "printf oops >&2; exit 44"),
		with(start("c-stdin", all, "cat"), func(s *guest.Start) { s.Stdin = d + "/in1" }),
		start("d-null", all, "cat"),
		with(start("e-dir", all, "pwd"), func(s *guest.Start) { s.Dir = d }),
		&guest.Setup{Bases: bases, Env: map[string]string{"STORED": "one", "OTHER": "two"}, Dir: d},
		start("f-env", all, "printenv", "STORED"), start("g-dir", all, "pwd"),
		with(start("h-env", all, "printenv", "STORED"), func(s *guest.Start) { s.Env = []string{"STORED=mine"} }),
		start("i-mark", all, "printenv", "SMOL_JOB"),
		&guest.Setup{Bases: bases}, start("j-env", all, "printenv", "OTHER"),
		with(start("k-late", all, "sleep", "1000"), func(s *guest.Start) { s.Timeout = 300 * time.Millisecond }),
		start("l-sleep", now, "sleep", "1000"), poll("l-sleep", now), signal("l-sleep", "KILL"), poll("l-sleep", all), signal("l-sleep", "TERM"),
		start("m-term", now, "sleep", "1000"), signal("m-term", "TERM"), poll("m-term", all),
		signal("n-early", "KILL"), start("n-early", all, "echo", "never"), poll("n-early", all),
		// When the acknowledged files go is not promised, so nobody looks for them.
		with(start("o-ack", all, "echo"), func(s *guest.Start) { s.Ack = []string{"a-echo", "nobody"} }), poll("b-code", all),
		start("p-stop", now, "sleep", "1000"), signal("p-stop", "STOP"), signal("p-stop", "TERM"), poll("p-stop", all),
	}
	for n, s := range steps {
		argv, err := s.Command()
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		cmd := osexec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = "/"
		want, _ := cmd.Output() // the reply says how it went
		got, _, _ := exec(t, in, &sim.Command{Argv: argv})
		if diff := cmp.Diff(told(t, s, want), told(t, s, []byte(got))); diff != "" {
			t.Errorf("step %d, %q (-script +machine):\n%s", n, argv[4:], diff)
		}
	}
}

// told is a reply without its times.
func told(t *testing.T, s request, out []byte) string {
	t.Helper()
	var v guest.View
	switch s := s.(type) {
	case starter:
		v = s.View
	case *guest.Poll:
		v = s.View
	}
	r, err := guest.ParseReply(out, v)
	if errors.Is(err, guest.ErrNoJob) || errors.Is(err, guest.ErrNoBase) {
		return err.Error()
	}
	if err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %d, %d and %d bytes in %s, ", r.State, r.Code, r.StdoutSize, r.StderrSize, r.Base)
	fmt.Fprintf(&b, "%q at %d with %d missing after %d, %q", r.Stdout.Data, r.Stdout.Offset, r.Stdout.Dropped, r.Stdout.Head, r.Stderr.Data)
	return b.String()
}
