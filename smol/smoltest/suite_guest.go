package smoltest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/smol-machines/smol-go/smol"
)

// The programs of the suite, as scripts for sh -c; their arguments are $1 and so on.
const (
	shExit   = `exit "$1"`
	shPrint  = `printf "$1"; printf "$2" >&2` // of octal escapes
	shCat    = `cat`
	shEnv    = `printf '%s|' "$SUITE_A" "$SUITE_B" "$SUITE_C"`
	shPwd    = `pwd`
	shArgs   = `for a; do printf '<%s>' "$a"; done`
	shUser   = `echo x >>"$1"; id -u`
	shSeq    = `seq 1 "$1"`
	shHang   = `echo $$ >"$1"; echo started; exec sleep 1000`
	shAlive  = `kill -0 "$(cat "$1")"`
	shTrap   = `trap 'echo caught; exit 5' TERM; echo started; while :; do sleep 0.05; done`
	shAppend = `echo x >>"$1"`
	shUntil  = `echo started; until [ -e "$1" ]; do sleep 0.05; done; echo last`
	shOrder  = `for i in 1 2 3; do echo o$i; echo e$i >&2; done`
)

// argv returns the command that runs a program of the suite.
func argv(script string, args ...string) []string {
	return append([]string{"sh", "-c", script, "sh"}, args...)
}

// program returns the command that runs a program of the suite in the machine.
func program(m *smol.Machine, script string, args ...string) *smol.Cmd {
	a := argv(script, args...)
	return m.Command(a[0], a[1:]...)
}

// octal returns data as printf takes it in its format.
func octal(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		fmt.Fprintf(&b, `\%03o`, c)
	}
	return b.String()
}

// BackendGuest returns machines of [Script] that know the commands of [TestBackend], for tests of a fleet on every system.
func BackendGuest() Guest {
	g := &suiteGuest{}
	return Script(g.run)
}

// suiteGuest answers the programs of the suite.
type suiteGuest struct{ alive sync.Map }

func (g *suiteGuest) run(ctx context.Context, c *Call) int {
	if len(c.Argv) < 4 || c.Argv[0] != "sh" || c.Argv[1] != "-c" {
		return NotFound
	}
	args := append(slices.Clone(c.Argv[4:]), "", "") // a fleet may lose some
	var err error
	switch c.Argv[2] {
	case shExit:
		code, _ := strconv.Atoi(args[0])
		return code
	case shPrint:
		_, err = io.WriteString(c.Stdout, unoctal(args[0]))
		_, _ = io.WriteString(c.Stderr, unoctal(args[1])) // that a reader is gone shows on the other stream, too
	case shCat:
		_, err = io.Copy(c.Stdout, c.Stdin)
	case shEnv:
		fmt.Fprintf(c.Stdout, "%s|%s|%s|", c.Getenv("SUITE_A"), c.Getenv("SUITE_B"), c.Getenv("SUITE_C"))
	case shPwd:
		fmt.Fprintln(c.Stdout, c.Dir)
	case shArgs:
		for _, a := range c.Argv[4:] {
			fmt.Fprintf(c.Stdout, "<%s>", a)
		}
	case shSeq:
		n, _ := strconv.Atoi(args[0])
		_, err = c.Stdout.Write(seq(n))
	case shAppend:
		data, _ := c.ReadFile(args[0]) // there may be none
		err = c.WriteFile(args[0], append(data, "x\n"...), 0o644)
	case shUser:
		if err = c.WriteFile(args[0], []byte("x\n"), 0o644); err == nil {
			uid, _, _ := strings.Cut(c.User, ":")
			fmt.Fprintln(c.Stdout, cmp.Or(uid, "0"))
		}
	case shOrder:
		for i := range 3 {
			fmt.Fprintf(c.Stdout, "o%d\n", i+1)
			fmt.Fprintf(c.Stderr, "e%d\n", i+1)
		}
	default:
		return g.runLong(ctx, c, args)
	}
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return 1
	}
	return 0
}

// runLong answers the programs that go on until something happens.
func (g *suiteGuest) runLong(ctx context.Context, c *Call, args []string) int {
	switch c.Argv[2] {
	case shHang:
		g.alive.Store(args[0], true)
		defer g.alive.Delete(args[0])
		fmt.Fprintln(c.Stdout, "started")
		<-ctx.Done()
		return 137
	case shAlive:
		if _, ok := g.alive.Load(args[0]); !ok {
			return 1
		}
	case shTrap:
		caught := make(chan int, 1)
		c.OnSignal(func(n int) { caught <- n })
		fmt.Fprintln(c.Stdout, "started")
		select {
		case <-caught:
			fmt.Fprintln(c.Stdout, "caught")
			return 5
		case <-ctx.Done():
			return 137
		}
	case shUntil:
		fmt.Fprintln(c.Stdout, "started")
		for {
			if _, err := c.ReadFile(args[0]); err == nil {
				fmt.Fprintln(c.Stdout, "last")
				return 0
			}
			if pause(ctx) != nil {
				return 137
			}
		}
	default:
		return NotFound
	}
	return 0
}

// seq is what the program writes.
func seq(n int) []byte {
	var b []byte
	for i := range n {
		b = append(strconv.AppendInt(b, int64(i+1), 10), '\n')
	}
	return b
}

// unoctal is the reverse of octal.
func unoctal(s string) string {
	var b strings.Builder
	for code := range strings.SplitSeq(strings.TrimPrefix(s, `\`), `\`) {
		if n, err := strconv.ParseUint(code, 8, 8); err == nil {
			b.WriteByte(byte(n))
		}
	}
	return b.String()
}
