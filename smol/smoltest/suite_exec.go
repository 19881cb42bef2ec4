package smoltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

// execRows are about commands on the fleet's own wire.
var execRows = []row{
	{"exec/exit codes", testExecCodes},
	{"exec/program missing", testExecMissing},
	{"exec/streams apart, exact bytes", testExecBytes},
	{"exec/long output", testExecLong},
	{"exec/arguments", testExecArgs},
	{"exec/environment", testExecEnv},
	{"exec/directory", testExecDir},
	{"exec/cancelled", testExecCancelled},
	{"exec/once", testExecOnce},
	{"exec/at once", testExecAtOnce},
	{"exec/hostile requests", testExecHostile},
	{"exec/request is not written", testExecKept},
	{"exec/user", testExecUser},
}

func testExecCodes(r *rowTest) {
	m := r.machine()
	for _, code := range []int{0, 1, 3, 42, 126, 127, 255} {
		res := r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shExit, strconv.Itoa(code))})
		if res.ExitCode != code {
			r.Errorf("a command that exits with %d: %d", code, res.ExitCode)
		}
		if len(res.Stdout)+len(res.Stderr) != 0 {
			r.Errorf("a silent command: %q, %q", res.Stdout, res.Stderr)
		}
	}
}

func testExecMissing(r *rowTest) {
	m := r.machine()
	res := r.exec(m.ID(), &smol.ExecRequest{Argv: []string{"no-such-program-of-the-suite"}})
	if res.ExitCode != 127 {
		r.Errorf("got %d, want 127", res.ExitCode)
	}
}

// hardBytes is every byte, and what text on a wire suffers from.
func hardBytes() []byte {
	var b []byte
	for n := range 256 {
		b = append(b, byte(n))
	}
	return append(b, "\r\n\r\r\n\n\xff\xfe\x00é\xc3"...)
}

func testExecBytes(r *rowTest) {
	m := r.machine()
	hard := hardBytes()
	for what, want := range map[string][2][]byte{
		"both":   {hard, []byte("err\r\n\xff")},
		"stdout": {hard, nil},
		"stderr": {nil, hard},
		"text":   {[]byte("a\r\nb\r\n"), []byte("c\rd\n")},
	} {
		res := r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shPrint, octal(want[0]), octal(want[1]))})
		r.same(what+": stdout", res.Stdout, want[0])
		r.same(what+": stderr", res.Stderr, want[1])
	}
}

func testExecLong(r *rowTest) {
	m := r.machine()
	res := r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shSeq, "180000")})
	r.same("stdout", res.Stdout, seq(180_000)) // more than a MiB
}

func testExecArgs(r *rowTest) {
	m := r.machine()
	args := []string{"a b", "", "'\"`$HOME\\", "two\nlines\r\n", "ü", "-n", "*", "a\tb", strings.Repeat("x", 20_000)}
	res := r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shArgs, args...)})
	r.same("arguments", res.Stdout, []byte("<"+strings.Join(args, "><")+">"))
}

func testExecEnv(r *rowTest) {
	m := r.machine()
	res := r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shEnv), Env: []string{"SUITE_A=it's \"a\" = b\n", "SUITE_B=first", "SUITE_C=", "SUITE_B=ü"}})
	r.same("environment", res.Stdout, []byte("it's \"a\" = b\n|ü||"))
}

func testExecDir(r *rowTest) {
	m := r.machine()
	for _, dir := range []string{"/tmp", "/", "/workspace"} {
		res := r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shPwd), Dir: dir})
		r.same("directory", res.Stdout, []byte(dir+"\n"))
	}
}

// testExecTimeout: the command is ended, which is a result with 124.
func testExecTimeout(r *rowTest) {
	m := r.machine()
	pid := "/tmp/pid-" + randhex.String(8)
	res, err := r.backend.Exec(r.ctx, m.ID(), &smol.ExecRequest{Argv: argv(shHang, pid), Timeout: time.Second})
	if err != nil || res.ExitCode != 124 {
		r.Fatalf("got %+v, %v, want exit code 124", res, err)
	}
	r.wantDead(m, pid)
}

// wantDead fails unless the command that hangs with that file is gone, or soon goes.
func (r *rowTest) wantDead(m *smol.Machine, pid string) {
	r.Helper()
	r.until("the end of the command", func() bool {
		var exit *smol.ExitError
		err := program(m, shAlive, pid).Run(r.ctx)
		if err != nil && !errors.As(err, &exit) {
			r.Fatalf("whether it lives: %v", err)
		}
		return err != nil
	})
}

// testExecCancelled: the call ends with its context. What its own limit made of it would be a result.
func testExecCancelled(r *rowTest) {
	m := r.machine()
	ctx, cancel := context.WithTimeout(r.ctx, 200*time.Millisecond)
	defer cancel()
	res, err := r.backend.Exec(ctx, m.ID(), &smol.ExecRequest{Argv: argv(shHang, "/tmp/pid-"+randhex.String(8)), Timeout: 3 * time.Second})
	if err == nil {
		r.Fatalf("got %+v", res)
	}
	r.want("exec", err, context.DeadlineExceeded)
}

// testExecOnce: a command runs once, and one that failed is not run again.
func testExecOnce(r *rowTest) {
	m := r.machine()
	for n := 1; n <= 3; n++ {
		r.exec(m.ID(), &smol.ExecRequest{Argv: argv(shAppend, "/workspace/ran")})
		r.wantFile(m, "/workspace/ran", []byte(strings.Repeat("x\n", n)))
	}
}

func testExecAtOnce(r *rowTest) {
	m := r.machine()
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			want := fmt.Sprintf("<%d>", n)
			if got, err := program(m, shArgs, strconv.Itoa(n)).Output(r.ctx); err != nil || string(got) != want {
				r.Errorf("command %d: %q, %v", n, got, err)
			}
		})
	}
	wg.Wait()
}

// testExecHostile: what no wire carries is refused, and nothing runs.
func testExecHostile(r *rowTest) {
	m := r.machine()
	for what, req := range map[string]*smol.ExecRequest{
		"no program":            {},
		"a program without":     {Argv: []string{""}},
		"NUL in an argument":    {Argv: argv(shArgs, "a\x00b")},
		"not UTF-8":             {Argv: argv(shArgs, "\xff")},
		"environment without =": {Argv: argv(shEnv), Env: []string{"SUITE_A"}},
		"environment, no name":  {Argv: argv(shEnv), Env: []string{"=x"}},
		"environment, NUL":      {Argv: argv(shEnv), Env: []string{"SUITE_A=\x00"}},
		"directory, NUL":        {Argv: argv(shPwd), Dir: "/tmp\x00"},
	} {
		_, err := r.backend.Exec(r.ctx, m.ID(), req)
		r.want("exec, "+what, err, smol.ErrInvalid)
		c := &smol.Cmd{}
		if len(req.Argv) > 0 {
			c = m.Command(req.Argv[0], req.Argv[1:]...)
			c.Env, c.Dir = req.Env, req.Dir
			r.want("command, "+what, c.Run(r.ctx), smol.ErrInvalid)
		}
	}
}

func testExecKept(r *rowTest) {
	m := r.machine()
	env, args := []string{"SUITE_B=2", "SUITE_A=1"}, argv(shEnv)
	req := &smol.ExecRequest{Argv: slices.Clone(args), Env: slices.Clone(env), Dir: "/tmp", Timeout: time.Minute}
	r.exec(m.ID(), req)
	if !slices.Equal(req.Argv, args) || !slices.Equal(req.Env, env) || req.Dir != "/tmp" || req.Timeout != time.Minute || req.User != "" {
		r.Errorf("the request was written: %+v", req)
	}
}

// testExecUser: a user is honoured or refused, never dropped.
func testExecUser(r *rowTest) {
	m := r.machine()
	res, err := r.backend.Exec(r.ctx, m.ID(), &smol.ExecRequest{Argv: argv(shUser, "/tmp/as-nobody"), User: "65534:65534"})
	if errors.Is(err, errors.ErrUnsupported) {
		_, err := m.Stat(r.ctx, "/tmp/as-nobody")
		r.wantNoFile("what a refused command would have written", err)
		r.skip("no users")
	}
	if err != nil {
		r.Fatalf("exec: %v", err)
	}
	if res.ExitCode != 0 && len(res.Stdout) == 0 { // where a service of an ordinary user has one id to give
		_, err := m.Stat(r.ctx, "/tmp/as-nobody")
		r.wantNoFile("what a command without its user would have written", err)
		r.skip(fmt.Sprintf("the machine has no such user: exit code %d, %.200s", res.ExitCode, res.Stderr))
	}
	r.same("user", res.Stdout, []byte("65534\n"))
}
