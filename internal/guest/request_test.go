package guest_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/smol-machines/smol-go/internal/guest"
)

var bases = []string{guest.BaseWorkspace, guest.BaseFallback}

var refusedStarts = []struct {
	name   string
	change func(*guest.Start)
	want   string
}{
	{"no id", func(s *guest.Start) { s.ID = "" }, "id: empty"},
	{"id up", func(s *guest.Start) { s.ID = ".." }, `id: ".."; an id has only`},
	{"id path", func(s *guest.Start) { s.ID = "a/b" }, `id: "a/b"; an id has only`},
	{"id long", func(s *guest.Start) { s.ID = strings.Repeat("a", 129) }, "id: 129 bytes; an id has at most 128"},
	{"id NUL", func(s *guest.Start) { s.ID = "a\x00" }, `id: "a\x00"; an id`},
	{"id blank", func(s *guest.Start) { s.ID = "a b" }, `id: "a b"; an id`},
	{"id newline", func(s *guest.Start) { s.ID = "a\n" }, `id: "a\n"; an id`},
	{"id glob", func(s *guest.Start) { s.ID = "*" }, `id: "*"; an id`},
	{"id letter", func(s *guest.Start) { s.ID = "é" }, `id: "é"; an id`},
	{"no base", func(s *guest.Start) { s.Bases = nil }, "bases: 0 directories"},
	{"base relative", func(s *guest.Start) { s.Bases = []string{"a"} }, `bases: "a"; a base is an absolute path`},
	{"base up", func(s *guest.Start) { s.Bases = []string{"/a/../b"} }, `bases: "/a/../b"; a base`},
	{"base blank", func(s *guest.Start) { s.Bases = []string{"/a b"} }, `bases: "/a b"; a base`},
	{"base root", func(s *guest.Start) { s.Bases = []string{"/"} }, `bases: "/"; a base`},
	{"no argv", func(s *guest.Start) { s.Argv = nil }, "argv: empty"},
	{"no program", func(s *guest.Start) { s.Argv = []string{""} }, "argument 0: empty"},
	{"argument NUL", func(s *guest.Start) { s.Argv = []string{"a", "b", "c\x00"} }, "argument 2: not UTF-8 text without NUL"},
	{"argument bytes", func(s *guest.Start) { s.Argv = []string{"a", "\xff"} }, "argument 1: not UTF-8 text without NUL"},
	{
		"argument long", func(s *guest.Start) { s.Argv = []string{"a", "b", "c", strings.Repeat("x", 200_000)} },
		"argument 3: 200000 bytes; a Linux argument is at most 131071: put it into a file",
	},
	{
		"script bytes", func(s *guest.Start) { s.Argv = []string{"sh", "-c", strings.Repeat("x", 200_000) + "\xff"} },
		"argument 2: not UTF-8 text without NUL",
	},
	{
		"not a script", func(s *guest.Start) { s.Argv = []string{"sh", strings.Repeat("x", 200_000)} },
		"argument 1: 200000 bytes",
	},
	{"env bare", func(s *guest.Start) { s.Env = []string{"FOO"} }, `env: "FOO"; an entry is NAME=value`},
	{"env empty", func(s *guest.Start) { s.Env = []string{"=x"} }, "env: an empty name"},
	{"env digit", func(s *guest.Start) { s.Env = []string{"1A=x"} }, `env: the name "1A"; allowed are`},
	{"env dash", func(s *guest.Start) { s.Env = []string{"A-B=x"} }, `env: the name "A-B"; allowed are`},
	{"env newline", func(s *guest.Start) { s.Env = []string{"A\n=x"} }, `env: the name "A\n"; allowed are`},
	{"env long", func(s *guest.Start) { s.Env = []string{strings.Repeat("A", 257) + "=x"} }, "env: a name of 257 bytes; at most 256"},
	{"env mark", func(s *guest.Start) { s.Env = []string{"SMOL_JOB=x"} }, "env: SMOL_JOB is how the runner knows"},
	{"env NUL", func(s *guest.Start) { s.Env = []string{"FOO=a\x00b"} }, "env FOO: not UTF-8 text without NUL"},
	{"env bytes", func(s *guest.Start) { s.Env = []string{"FOO=\xff"} }, "env FOO: not UTF-8 text without NUL"},
	{"env value long", func(s *guest.Start) { s.Env = []string{"FOO=" + strings.Repeat("x", guest.MaxArg)} }, "env FOO: 131075 bytes; a Linux argument"},
	{"dir NUL", func(s *guest.Start) { s.Dir = "/\x00" }, "dir: not UTF-8 text without NUL"},
	{"dir bytes", func(s *guest.Start) { s.Dir = "/\xff" }, "dir: not UTF-8 text without NUL"},
	{"dir long", func(s *guest.Start) { s.Dir = strings.Repeat("d", 4096) }, "dir: 4096 bytes; a path has at most 4095"},
	{"stdin relative", func(s *guest.Start) { s.Stdin = "in" }, `stdin: "in"; it must be an absolute path`},
	{"stdin bytes", func(s *guest.Start) { s.Stdin = "/\xff" }, "stdin: not UTF-8 text without NUL"},
	{"timeout", func(s *guest.Start) { s.Timeout = -1 }, "timeout: -1ns; it must be from 0 to"},
	{"timeout huge", func(s *guest.Start) { s.Timeout = math.MaxInt64 }, "timeout: 2562047h47m16.854775807s; it must be"},
	{"wait", func(s *guest.Start) { s.View.Wait = -1 }, "wait: -1ns"},
	{"budget", func(s *guest.Start) { s.View.Budget = -1 }, "budget: -1 bytes"},
	{"budget huge", func(s *guest.Start) { s.View.Budget = math.MaxInt64 }, "budget: 9223372036854775807 bytes"},
	{"offset", func(s *guest.Start) { s.View.Stdout = -1 }, "offset: negative"},
	{"ack path", func(s *guest.Start) { s.Ack = []string{"ok", "../x"} }, `ack: "../x"; an id has only`},
	{"acks", func(s *guest.Start) { s.Ack = make([]string, 65) }, "ack: 65 ids"},
}

func TestStartRefuses(t *testing.T) {
	for _, row := range refusedStarts {
		t.Run(row.name, func(t *testing.T) {
			s := &guest.Start{ID: "job-1", Bases: bases, Argv: []string{"true"}}
			row.change(s)
			argv, files, err := s.Command()
			var field *guest.FieldError
			if !errors.As(err, &field) || argv != nil || files != nil {
				t.Fatalf("%q, %v, %v", argv, files, err)
			}
			if !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
			if strings.Contains(row.want, "not UTF-8") != errors.Is(err, guest.ErrNotText) {
				t.Errorf("matches ErrNotText: %v", err)
			}
		})
	}
}

func TestOtherRequestsRefuse(t *testing.T) {
	type commander interface{ Command() ([]string, error) }
	for _, row := range []struct {
		request commander
		want    string
	}{
		{&guest.Poll{Bases: bases}, "id: empty"},
		{&guest.Poll{ID: "a/b", Bases: bases}, `id: "a/b"`},
		{&guest.Poll{ID: "a"}, "bases: 0"},
		{&guest.Poll{ID: "a", Bases: bases, View: guest.View{Stderr: -1}}, "offset: negative"},
		{&guest.Signal{ID: "..", Bases: bases, Signal: "KILL"}, `id: ".."`},
		{&guest.Signal{ID: "a", Bases: bases}, `signal: ""; it must be one of CONT, HUP, INT, KILL, QUIT, STOP, TERM, USR1, USR2`},
		{&guest.Signal{ID: "a", Bases: bases, Signal: "SIGKILL"}, `signal: "SIGKILL"`},
		{&guest.Signal{ID: "a", Bases: bases, Signal: "9; true"}, `signal: "9; true"`},
		{&guest.Setup{}, "bases: 0"},
		{&guest.Setup{Bases: bases, Env: map[string]string{"A B": ""}}, `env: the name "A B"`},
		{&guest.Setup{Bases: bases, Env: map[string]string{"A": "\x00"}}, "env A: not UTF-8"},
		{&guest.Setup{Bases: bases, Env: map[string]string{"SMOL_JOB": ""}}, "env: SMOL_JOB"},
		{&guest.Setup{Bases: bases, Dir: "\xff"}, "dir: not UTF-8"},
		{&guest.Setup{Bases: bases, Env: map[string]string{"A": strings.Repeat("'", 130_000), "B": strings.Repeat("'", 130_000)}}, "env: 1040"},
	} {
		argv, err := row.request.Command()
		if err == nil || argv != nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%T: %v, want %s", row.request, err, row.want)
		}
	}
}

// parsed reads a request back from its argv.
func parsed(t *testing.T, argv []string, files []guest.File) any {
	t.Helper()
	request, ok := guest.Parse(argv)
	if !ok {
		t.Fatalf("not understood: %.300q", argv)
	}
	if s, ok := request.(*guest.Start); ok {
		var read []string
		err := s.Resolve(func(path string) ([]byte, error) {
			read = append(read, path)
			for _, f := range files {
				if f.Path == path {
					return f.Data, nil
				}
			}
			return nil, errors.New("no file " + path)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(read) != len(files) {
			t.Errorf("read %q of %d files", read, len(files))
		}
	}
	return request
}

var ignored = cmp.Options{cmpopts.IgnoreUnexported(guest.Start{}), cmpopts.EquateEmpty()}

func TestParseStart(t *testing.T) {
	long := strings.Repeat("x'\n", 50_000)
	script := []string{"busybox", "sh", "-c", long, "name", "arg"}
	for _, s := range []*guest.Start{
		{ID: "a", Bases: bases, Argv: []string{"true"}},
		{ID: "A-b_9", Bases: bases[:1], Argv: append([]string{"prog"}, odd...), Dir: "/a b'", Stdin: "/in '", Timeout: 90 * time.Second},
		{ID: "a", Bases: bases, Argv: []string{"x"}, Env: []string{"A=1", "UID=2", "A=", "PATH=/x", "_jwd=/", "B='\n"}},
		{ID: "a", Bases: bases, Argv: []string{"x"}, Ack: []string{"b", "c-1"}, View: guest.View{
			Stdout: 5, Stderr: 1 << 62, Wait: 1230 * time.Millisecond, News: true, Budget: 1 << 30, Clip: true,
		}},
		{ID: "a", Bases: bases, Argv: []string{"x", long[:100_000]}, Env: []string{"PPID=" + long[:100_000]}},
		{ID: "a", Bases: bases, Argv: script},
		{ID: "a", Bases: bases, Argv: append(slices.Clone(script), long[:100_000])},
		{ID: "a", Bases: bases, Argv: []string{"sh", "-c", ". '/workspace/.smol/b.script'"}},
	} {
		argv, files, err := s.Command()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, parsed(t, argv, files), ignored); diff != "" {
			t.Errorf("%.1000s", diff)
		}
	}
}

func TestStartLeavesItsRequest(t *testing.T) {
	s := &guest.Start{ID: "a", Bases: bases, Argv: []string{"sh", "-c", strings.Repeat("x", 150_000)}}
	before := slices.Clone(s.Argv)
	if _, _, err := s.Command(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, s.Argv) {
		t.Error("the caller's argv was changed")
	}
}

func TestParseOthers(t *testing.T) {
	type commander interface{ Command() ([]string, error) }
	for _, request := range []commander{
		&guest.Poll{ID: "a", Bases: bases, View: guest.View{Stdout: 1, Stderr: 2, Wait: time.Second, News: true, Budget: 3, Clip: true}},
		&guest.Signal{ID: "a", Bases: bases, Signal: "USR1"},
		&guest.Setup{Bases: bases},
		&guest.Setup{Bases: bases, Dir: "/a\n'"},
		&guest.Setup{Bases: bases, Env: map[string]string{}},
		&guest.Setup{Bases: bases, Env: map[string]string{"A": strings.Repeat("é", 60_000), "B": strings.Repeat("漢", 20_000), "UID": "1"}, Dir: "/x"},
	} {
		argv, err := request.Command()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(request, parsed(t, argv, nil)); diff != "" {
			t.Errorf("%.1000s", diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	start, _, _ := (&guest.Start{ID: "a", Bases: bases, Argv: []string{"true"}}).Command()
	poll, _ := (&guest.Poll{ID: "a", Bases: bases}).Command()
	changed := func(argv []string, i int, s string) []string {
		argv = slices.Clone(argv)
		argv[i] = s
		return argv
	}
	for _, argv := range [][]string{
		nil,
		{"sh"},
		{"sh", "-c", "true"},
		{"sh", "-c", "true", guest.Name},
		{"sh", "-c", "", guest.Name, "x"},
		start[:len(start)-1], append(slices.Clone(start), "x"), start[:4], poll[:5], append(slices.Clone(poll), ""),
		changed(start, 0, "bash"), changed(start, 1, "-e"), changed(start, 2, start[2]+"\n"), changed(start, 3, "sh"),
		changed(start, 4, ""), changed(start, 6, "x"), changed(start, 6, "-1.00"), changed(start, 11, "set -- true"),
		changed(start, 11, "set -- $HOME\n"), changed(start, 11, "rm -rf /\n"), changed(start, 11, "export A-B='x'\nset -- 'x'\n"), changed(start, 11, ""),
		changed(poll, 6, "1.5"), changed(poll, 10, "x"), changed(poll, 10, ""),
	} {
		if r, ok := guest.Parse(argv); ok {
			t.Errorf("%+v", r)
		}
	}
}

func TestResolveFails(t *testing.T) {
	s := &guest.Start{ID: "a", Bases: bases, Argv: []string{"x", strings.Repeat("x", guest.MaxArgs)}}
	argv, files, err := s.Command()
	if err != nil || len(files) != 1 || files[0].Path != guest.BaseWorkspace+"/a.args" {
		t.Fatalf("%v, %v", files, err)
	}
	r, _ := guest.Parse(argv)
	if got := r.(*guest.Start).Files(); !slices.Contains(got, files[0].Path) {
		t.Errorf("files %q", got)
	}
	broken := errors.New("broken")
	if err := r.(*guest.Start).Resolve(func(string) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := r.(*guest.Start).Resolve(func(string) ([]byte, error) { return []byte("rm -rf /\n"), nil }); err == nil {
		t.Error("a file of somebody else's was taken")
	}
}

func TestNewID(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))
	a, b := guest.NewID(now), guest.NewID(now)
	const prefix = "job-20260203-030506-"
	if !strings.HasPrefix(a, prefix) || len(a) != len(prefix)+6 || a == b {
		t.Errorf("%s, %s", a, b)
	}
	if _, _, err := (&guest.Start{ID: a, Bases: bases, Argv: []string{"true"}}).Command(); err != nil {
		t.Error(err)
	}
}

// What is sent with every command has to stay small.
func TestScriptSizes(t *testing.T) {
	start, _, _ := (&guest.Start{ID: "a", Bases: bases, Argv: []string{"true"}}).Command()
	poll, _ := (&guest.Poll{ID: "a", Bases: bases}).Command()
	signal, _ := (&guest.Signal{ID: "a", Bases: bases, Signal: "KILL"}).Command()
	setup, _ := (&guest.Setup{Bases: bases}).Command()
	for _, row := range []struct {
		argv  []string
		limit int
	}{{start, 7500}, {poll, 3300}, {signal, 4 << 10}, {setup, 3500}} {
		if n := len(strings.Join(row.argv, " ")); n > row.limit {
			t.Errorf("%d bytes, at most %d: %.40q", n, row.limit, row.argv[2])
		} else {
			t.Logf("%d bytes", n)
		}
	}
}
