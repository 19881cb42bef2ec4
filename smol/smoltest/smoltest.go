// Package smoltest gives tests stand-ins of the local service and of the cloud. They are real servers on real sockets, speak the wire contracts
// of the services down to their traps, and run commands for real, or answer them by a function:
//
//	func TestDeploy(t *testing.T) {
//		fleet := smoltest.NewLocal(t, nil).Service(t)
//		m, err := fleet.Create(t.Context(), smol.Spec{Name: "box"}, nil)
//		...
//	}
//
// [NewCloud] is the same for the cloud, with keys, plans, bills and a clock of its own.
//
// At the end of the test a stand-in ends every machine, and the test fails if a process of one is left.
//
// It can be told to misbehave ([Local.Fault]), to restart and to die ([Local.Restart], [Local.Kill]), and it says what it was
// asked ([Local.Count]).
package smoltest

import (
	"runtime"
	"testing"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/host"
	"github.com/smol-machines/smol-go/smol/local"
)

// Local is a stand-in of the local service. It is safe for concurrent use.
type Local struct {
	standIn
	host *host.Host
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
	l.bind(tb)
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
	l.fail = l.keep
	return l, nil
}

func start(o *Options, g sim.Guest) (*Local, error) {
	if o == nil {
		o = &Options{}
	}
	if err := checkFaults(o.Faults); err != nil {
		return nil, err
	}
	opts := o.server()
	opts.Guest = g
	h, err := host.Start(&host.Options{Server: opts, TCP: o.TCP || runtime.GOOS == "windows"})
	if err != nil {
		return nil, err
	}
	l := &Local{standIn: standIn{process: h}, host: h}
	l.arm(o.Faults)
	return l, nil
}

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

// Reboots returns how often a machine was rebooted because it was taken for dead, by the ninth call at once for example. It is 0 for a
// machine that is not there.
func (l *Local) Reboots(machine string) int { return l.host.Reboots(machine) }
