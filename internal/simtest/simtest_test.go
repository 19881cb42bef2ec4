package simtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

func TestSandbox(t *testing.T) {
	g := simtest.Sandbox(t)
	if other := simtest.Sandbox(t); other != g {
		t.Error("two tests have two guests, which both try whether machines can be made")
	}
	m, err := g.Boot(t.Context(), &sim.Boot{Dir: t.TempDir(), Name: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Kill()
	var out bytes.Buffer
	p, err := m.Start(t.Context(), &sim.Command{Argv: []string{"hostname"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); code != 0 || err != nil || out.String() != "hello\n" {
		t.Errorf("exit %d, %v, output %q", code, err, out.String())
	}
}

func TestRefusal(t *testing.T) {
	cause := errors.New("the cause (the remedy)")
	for required, want := range map[bool]string{
		false: "skipped: no machine can be made: the cause (the remedy)",
		true:  "failed: SMOL_REQUIRE_SANDBOX=1, but no machine can be made: the cause (the remedy)",
	} {
		tb := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // as the end of a test is the end of its goroutine
			defer close(done)
			simtest.Refuse(tb, required, cause)
		}()
		<-done
		if diff := cmp.Diff(want, tb.said); diff != "" {
			t.Errorf("required %v (-want +got):\n%s", required, diff)
		}
	}
}

// recorder is a test that only tells how it ended.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) { r.end("skipped: ", format, args) }

func (r *recorder) Fatalf(format string, args ...any) { r.end("failed: ", format, args) }

func (r *recorder) end(how, format string, args []any) {
	r.said = how + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestFreePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:"+simtest.FreePort(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
