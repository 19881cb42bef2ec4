package smol_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// TestSimCancelStorm cancels many commands at any moment: none lives on, and none ran twice.
func TestSimCancelStorm(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, l *smoltest.Local, m *smol.Machine) {
		n := rounds.N(12)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(600*time.Millisecond))
				defer cancel()
				c := m.Shell(fmt.Sprintf("echo %d >>/workspace/log; exec sleep 4321", i))
				err := c.Run(ctx)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("command %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		alive := func() string {
			out, err := m.Shell(`cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -cx 4321; :`).Output(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(out))
		}
		left := alive()
		for tries := 0; left != "0" && tries < 100; tries++ { // those whose kill was still under way when Wait returned
			left = alive()
		}
		if left != "0" {
			t.Errorf("%s of %d cancelled commands live on", left, n)
		}
		out, err := m.Shell("touch /workspace/log; sort /workspace/log | uniq -d").Output(t.Context())
		if err != nil || len(out) != 0 {
			t.Errorf("ran twice: %q (%v)", out, err)
		}
		if n := l.Reboots(m.Name()); n != 0 {
			t.Errorf("rebooted %d times", n)
		}
	})
}

// TestSimFaultStorm runs commands while one reply in three is lost: each runs once, and its output is had.
func TestSimFaultStorm(t *testing.T) {
	l, _, m := simMachine(t, smol.Spec{Image: "busybox"})
	if err := m.Command("true").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for nth := 3; nth < 200; nth += 3 {
		l.Fault(smoltest.Fault{Method: "POST", Path: execPath, Nth: nth, Action: smoltest.LoseReply})
	}
	n := rounds.N(24)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			out, err := m.Shell(fmt.Sprintf("echo %d | tee -a /workspace/log", i)).Output(t.Context())
			if err != nil || string(out) != fmt.Sprintf("%d\n", i) {
				t.Errorf("command %d: got %q and %v", i, out, err)
			}
		})
	}
	wg.Wait()
	l.ClearFaults()
	out, err := m.Shell("sort -n /workspace/log").Output(t.Context())
	var want strings.Builder
	for i := range n {
		fmt.Fprintln(&want, i)
	}
	if err != nil || string(out) != want.String() {
		t.Errorf("ran %q (%v), want each once", out, err)
	}
}
