// Package smoltest gives tests a stand-in of the local service. It is a real server on a real socket, speaks the wire contract of
// smolvm down to its traps, and runs commands for real, or answers them by a function:
//
//	func TestDeploy(t *testing.T) {
//		fleet := smoltest.NewLocal(t, nil).Service(t)
//		m, err := fleet.Create(t.Context(), smol.Spec{Image: "alpine"}, nil)
//		...
//	}
//
// At the end of the test the stand-in ends every machine, and the test fails if a process of one is left.
//
// It can be told to misbehave ([Local.Fault]), to restart and to die ([Local.Restart], [Local.Kill]), and it says what it was
// asked ([Local.Count]).
package smoltest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/smol/local"
)

// Local is a stand-in of the local service. It is safe for concurrent use.
type Local struct {
	host *host.Host
	fail func(err error)

	mu     sync.Mutex
	errs   []error // of a stand-in without a test
	closed bool
}

// NewLocal starts a stand-in, which ends with the test and takes its machines with it. It fails the test if that cannot be done, or if a
// machine could not be ended. The socket has mode 0600 in a short directory of mode 0700.
func NewLocal(tb testing.TB, o *Options) *Local {
	tb.Helper()
	g := o.guestOr()
	l, err := start(o, g.guest(tb))
	if err != nil {
		tb.Fatalf("smoltest: start the stand-in: %v", err)
	}
	l.fail = func(err error) {
		tb.Helper()
		tb.Errorf("smoltest: %v", err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("smoltest: the stand-in leaves something behind: %v", err)
		}
	})
	return l
}

// StartLocal starts a stand-in where there is no test: in TestMain, in an Example, in a program. It must be closed. Where the system cannot
// make the machines of [Sandbox] it returns why and what to do about it.
func StartLocal(o *Options) (*Local, error) {
	g := o.guestOr().alone()
	if err := g.Supported(); err != nil {
		return nil, err
	}
	l, err := start(o, g)
	if err != nil {
		return nil, err
	}
	l.fail = func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errs = append(l.errs, err)
	}
	return l, nil
}

func start(o *Options, g sim.Guest) (*Local, error) {
	if o == nil {
		o = &Options{}
	}
	opts := o.server()
	opts.Guest = g
	h, err := host.Start(&host.Options{Server: opts, TCP: o.TCP || runtime.GOOS == "windows"})
	if err != nil {
		return nil, err
	}
	l := &Local{host: h}
	for _, f := range o.Faults {
		h.Fault(f.fault())
	}
	return l, nil
}

// Close ends the stand-in with every machine and removes all it kept. The error tells what could not be ended or removed, and after
// [StartLocal] also what went wrong before. It is called at the end of a test by itself; a second call does nothing.
func (l *Local) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	errs := l.errs
	l.mu.Unlock()
	if again {
		return nil
	}
	return errors.Join(append(errs, l.host.Close())...)
}

// URL is where the stand-in listens, unix:///path or http://127.0.0.1:port; it stays the same over restarts. [local.Options] takes it, and
// so does SMOL_LOCAL_URL in the environment of another program.
func (l *Local) URL() string { return l.host.URL() }

// Service returns a client of the stand-in, which is closed at the end of the test.
func (l *Local) Service(tb testing.TB) *local.Service {
	tb.Helper()
	svc, err := local.New(&local.Options{URL: l.URL()})
	if err != nil {
		tb.Fatalf("smoltest: %v", err)
	}
	tb.Cleanup(func() {
		if err := svc.Close(); err != nil {
			tb.Errorf("smoltest: close the client: %v", err)
		}
	})
	return svc
}

// Restart stops the server as its operator does, gives requests in flight five seconds, and starts a new one in the same place. The machines
// run on, and the new server adopts them. One that was killed is only started. If it does not start the test fails.
func (l *Local) Restart() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.host.Restart(ctx); err != nil {
		l.fail(err)
	}
}

// Kill ends the server as SIGKILL does: connections are cut, foreground commands die with it, and nothing is written down. Nobody listens
// until [Local.Restart]. The machines run on.
func (l *Local) Kill() {
	if err := l.host.Kill(); err != nil {
		l.fail(fmt.Errorf("kill the server: %w", err))
	}
}

// Reboots returns how often a machine was rebooted because it was taken for dead, by the ninth call at once for example. It is 0 for a
// machine that is not there.
func (l *Local) Reboots(machine string) int { return l.host.Reboots(machine) }
