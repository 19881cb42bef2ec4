package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/ledger"
)

// asOther makes the test binary another program over the same directory.
const asOther = "LEDGER_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asOther); dir != "" {
		if err := other(dir, os.Args[1], os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// other takes up a session, puts machines on record and every second one off it, says so, and waits for its end.
func other(dir, session, count string) error {
	l, ctx := ledger.New(dir), context.Background()
	s, err := l.Begin(ctx, session)
	if err != nil {
		return err
	}
	defer s.End()
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for i := range n {
		e := ledger.Entry{Name: fmt.Sprintf("mcp-%s-%d", session, i), Session: session, Since: 1, Asked: time.Now().Unix()}
		if err := l.Add(ctx, e); err != nil {
			return err
		}
		if i%2 == 1 {
			if err := l.Remove(ctx, session, e.Name); err != nil {
				return err
			}
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is another program.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, dir, session string, count int) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe, session, strconv.Itoa(count))}
	p.cmd.Env = append(os.Environ(), asOther+"="+dir)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	return p
}

func (p *process) ready(t *testing.T) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
}
