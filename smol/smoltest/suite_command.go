package smoltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/smol-machines/smol-go/internal/randhex"
	"github.com/smol-machines/smol-go/smol"
)

// commandRows are about commands through the library.
var commandRows = []row{
	{"command/exit codes", testCommandCodes},
	{"command/streams apart, exact bytes", testCommandBytes},
	{"command/one stream, in order", testCommandOrder},
	{"command/long output", testCommandLong},
	{"command/input", testCommandInput},
	{"command/environment, directory, arguments", testCommandEnv},
	{"command/output while it runs", testCommandStreams},
	{"command/cancelled", testCommandCancelled},
	{"command/signal", testCommandSignal},
}

// wantExit fails unless err is the exit of a command with that code.
func (r *rowTest) wantExit(what string, err error, code int) *smol.ExitError {
	r.Helper()
	var exit *smol.ExitError
	if !errors.As(err, &exit) || exit.Code != code {
		r.Errorf("%s: got %v, want exit code %d", what, err, code)
		return &smol.ExitError{}
	}
	return exit
}

func testCommandCodes(r *rowTest) {
	m := r.machine()
	if err := program(m, shExit, "0").Run(r.ctx); err != nil {
		r.Errorf("exit with 0: %v", err)
	}
	r.wantExit("exit with 1", program(m, shExit, "1").Run(r.ctx), 1)
	r.wantExit("exit with 255", program(m, shExit, "255").Run(r.ctx), 255)
	if exit := r.wantExit("a program that is not there", m.Command("no-such-program-of-the-suite").Run(r.ctx), 127); exit.Hint == "" {
		r.Errorf("a program that is not there gives no hint")
	}
}

func testCommandBytes(r *rowTest) {
	m := r.machine()
	hard := hardBytes()
	var stdout, stderr bytes.Buffer
	c := program(m, shPrint, octal(hard), octal([]byte("err\r\n\xff")))
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(r.ctx); err != nil {
		r.Fatalf("run: %v", err)
	}
	r.same("stdout", stdout.Bytes(), hard)
	r.same("stderr", stderr.Bytes(), []byte("err\r\n\xff"))
	if c.State == nil || c.State.ExitCode != 0 || c.State.Missing != "" {
		r.Errorf("state: %+v", c.State)
	}
}

func testCommandOrder(r *rowTest) {
	out, err := program(r.machine(), shOrder).CombinedOutput(r.ctx)
	if err != nil {
		r.Errorf("run: %v", err)
	}
	r.same("output", out, []byte("o1\ne1\no2\ne2\no3\ne3\n"))
}

func testCommandLong(r *rowTest) {
	out, err := program(r.machine(), shSeq, "300000").Output(r.ctx)
	if err != nil {
		r.Errorf("run: %v", err)
	}
	r.same("output", out, seq(300_000))
}

func testCommandInput(r *rowTest) {
	m := r.machine()
	for _, in := range [][]byte{nil, hardBytes(), []byte("a\r\nb\n"), seq(100_000)} {
		c := program(m, shCat)
		c.Stdin = bytes.NewReader(in)
		out, err := c.Output(r.ctx)
		if err != nil {
			r.Errorf("%d bytes: %v", len(in), err)
		}
		r.same("input", out, in)
	}
	if got := r.output(program(m, shCat)); got != "" {
		r.Errorf("without input it reads %q", got)
	}
}

func testCommandEnv(r *rowTest) {
	m := r.machine()
	c := program(m, shEnv)
	c.Env = []string{"SUITE_A=it's \"a\"", "SUITE_B=first", "SUITE_C=", "SUITE_B=ü"}
	if got := r.output(c); got != "it's \"a\"|ü||" {
		r.Errorf("environment: %q", got)
	}
	c = program(m, shPwd)
	c.Dir = "/tmp"
	if got := r.output(c); got != "/tmp\n" {
		r.Errorf("directory: %q", got)
	}
	args := []string{"a b", "", "'\"$HOME\\", "two\nlines", "ü", strings.Repeat("x", 100_000)}
	if got := r.output(program(m, shArgs, args...)); got != "<"+strings.Join(args, "><")+">" {
		r.Errorf("arguments: %.200q", got)
	}
}

// startedLine starts the command and returns when it has said so; what it says further can be read.
func (r *rowTest) startedLine(ctx context.Context, c *smol.Cmd) io.Reader {
	r.Helper()
	out, in := io.Pipe()
	c.Stdout = in
	if err := c.Start(ctx); err != nil {
		r.Fatalf("start: %v", err)
	}
	stop := context.AfterFunc(r.ctx, func() { _ = out.CloseWithError(r.ctx.Err()) })
	r.Cleanup(func() { stop(); _ = out.Close() })
	line := make([]byte, len("started\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "started\n" {
		r.Fatalf("the first output: %q, %v", line, err)
	}
	return out
}

func testCommandStreams(r *rowTest) {
	m := r.machine()
	c := program(m, shUntil, "/workspace/go")
	out := r.startedLine(r.ctx, c)
	r.write(m, "/workspace/go", nil)
	rest := make([]byte, len("last\n"))
	if _, err := io.ReadFull(out, rest); err != nil {
		r.Errorf("the rest of the output: %v", err)
	}
	r.same("the rest of the output", rest, []byte("last\n"))
	if err := c.Wait(); err != nil {
		r.Errorf("wait: %v", err)
	}
}

func testCommandTimeout(r *rowTest) {
	m := r.machine()
	pid := "/tmp/pid-" + randhex.String(8)
	c := program(m, shHang, pid)
	c.Timeout = time.Second
	if exit := r.wantExit("run", c.Run(r.ctx), 124); !exit.TimedOut {
		r.Errorf("it does not say that the time was up: %+v", exit)
	}
	r.wantDead(m, pid)
}

func testCommandCancelled(r *rowTest) {
	m := r.machine()
	pid := "/tmp/pid-" + randhex.String(8)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	c := program(m, shHang, pid)
	r.startedLine(ctx, c)
	cancel()
	r.want("wait", c.Wait(), context.Canceled)
	r.wantDead(m, pid)
}

func testCommandSignal(r *rowTest) {
	m := r.machine()
	c := program(m, shTrap)
	out := r.startedLine(r.ctx, c)
	if err := c.Signal(r.ctx, smol.Terminate); err != nil {
		r.Fatalf("signal: %v", err)
	}
	said := make([]byte, len("caught\n"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "caught\n" {
		r.Errorf("it says %q, %v", said, err)
	}
	r.wantExit("a command that catches TERM", c.Wait(), 5)
	c = program(m, shHang, "/tmp/pid-"+randhex.String(8))
	r.startedLine(r.ctx, c)
	if err := c.Signal(r.ctx, smol.Terminate); err != nil {
		r.Fatalf("signal: %v", err)
	}
	if exit := r.wantExit("a command that does not", c.Wait(), 143); exit.Signal != smol.Terminate {
		r.Errorf("it does not tell the signal: %+v", exit)
	}
	r.want("signal to a command that has ended", c.Signal(r.ctx, smol.Terminate), smol.ErrConflict)
}
