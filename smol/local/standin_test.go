package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/internal/sim/host"
	sim "github.com/smol-machines/smol-go/internal/sim/local"
	"github.com/smol-machines/smol-go/internal/sim/script"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// programs are those of the stand-in's machines.
func programs(ctx context.Context, c *script.Call) int {
	switch c.Argv[0] {
	case "echo":
		fmt.Fprintln(c.Stdout, strings.Join(c.Argv[1:], " "))
		return 0
	case "cat":
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return 1
		}
		return 0
	case "bytes":
		_, _ = c.Stdout.Write([]byte("\xff\x00\r\n"))
		_, _ = c.Stderr.Write([]byte("e"))
		return 3
	case "env":
		fmt.Fprintln(c.Stdout, c.Getenv("A"), c.Dir)
		return 0
	case "forever":
		<-ctx.Done()
		return 1
	}
	return script.NotFound
}

// standIn is a stand-in of the service and a client of it.
type standIn struct {
	*local.Backend
	h *host.Host
}

func newStandIn(t *testing.T, tcp bool, o sim.Options) *standIn {
	t.Helper()
	o.Guest = script.New(programs)
	h, err := host.Start(&host.Options{Server: o, TCP: tcp || runtime.GOOS == "windows"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := local.NewBackend(&local.Options{URL: h.URL()})
	if err != nil {
		t.Fatal(err)
	}
	b.Hurry()
	t.Cleanup(func() { _ = b.Close() })
	return &standIn{b, h}
}

// create makes a machine of an image and fails the test if that does not work.
func (s *standIn) create(t *testing.T, name string) {
	t.Helper()
	if _, err := s.Create(t.Context(), &smol.Spec{Name: name, Image: "alpine", Network: smol.Network{Open: true}}); err != nil {
		t.Fatal(err)
	}
}

// boot makes a machine that runs.
func (s *standIn) boot(t *testing.T, name string) {
	t.Helper()
	s.create(t, name)
	if _, err := s.Start(t.Context(), name, &smol.StartOptions{Branchable: true}); err != nil {
		t.Fatal(err)
	}
}

// sent counts requests of a method whose path ends so.
func (s *standIn) sent(method, suffix string) (n int) {
	for _, r := range s.h.Requests() {
		if r.Method == method && strings.HasSuffix(r.Path, suffix) {
			n++
		}
	}
	return n
}

// TestLostReplies does the work and loses the answer: nothing is asked for twice, and each call finds out what became of it.
func TestLostReplies(t *testing.T) {
	s := newStandIn(t, false, sim.Options{})
	lose := func(method, path string) {
		s.h.ClearFaults()
		s.h.Fault(fault.Fault{Method: method, Path: path, Nth: 1, Action: fault.LoseReply})
	}
	lose("POST", "/api/v1/machines")
	_, err := s.Create(t.Context(), &smol.Spec{Name: "m", Image: "alpine", Network: smol.Network{Open: true}})
	if e := asError(t, err); e.Status != 0 || e.Code != smol.CodeUnavailable {
		t.Errorf("create: %+v", e)
	}
	lose("POST", "machines/m/start")
	if info, err := s.Start(t.Context(), "m", nil); err != nil || info.State != smol.StateRunning {
		t.Errorf("start: %+v, %v", info, err)
	}
	lose("POST", "machines/m/exec")
	if _, err := s.Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"echo"}}); asError(t, err).Status != 0 {
		t.Errorf("exec: %v", err)
	}
	lose("POST", "machines/m/stop")
	if info, err := s.Stop(t.Context(), "m", nil); err != nil || info.State != smol.StateStopped {
		t.Errorf("stop: %+v, %v", info, err)
	}
	lose("DELETE", "machines/m")
	if err := s.Delete(t.Context(), "m", nil); err != nil {
		t.Errorf("delete: %v", err)
	}
	for _, r := range []struct{ method, path string }{{"POST", "/machines"}, {"POST", "/start"}, {"POST", "/exec"}, {"POST", "/stop"}, {"DELETE", "/m"}} {
		if n := s.sent(r.method, r.path); n != 1 {
			t.Errorf("%s %s was sent %d times", r.method, r.path, n)
		}
	}
}

// slowPull is a pull that the first time lasts until it is let go.
func slowPull() (pull func(context.Context, string) error, begun, finish chan struct{}) {
	begun, finish = make(chan struct{}), make(chan struct{})
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(ctx context.Context, _ string) error {
		select {
		case <-first:
		default:
			return nil
		}
		close(begun)
		select {
		case <-finish:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, begun, finish
}

// TestStartAbandonedInPull is a start that the service gave up on: the machine runs, and the service says that it does not.
func TestStartAbandonedInPull(t *testing.T) {
	t.Parallel() // most of it is the wait for the service to give up
	pull, begun, finish := slowPull()
	s := newStandIn(t, false, sim.Options{Timeout: 2 * time.Second, Pull: pull, Supervisor: -1})
	s.create(t, "m")
	go func() {
		<-begun
		for s.sent("GET", "/m") == 0 { // until the client looks what became of it
			runtime.Gosched()
		}
		close(finish)
	}()
	info, err := s.Start(t.Context(), "m", nil)
	if err != nil || info.State != smol.StateRunning {
		t.Fatalf("%+v, %v", info, err)
	}
	if n := s.sent("POST", "/start"); n != 1 {
		t.Errorf("started %d times", n)
	}
	if got, err := s.Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"echo", "x"}}); err != nil || string(got.Stdout) != "x\n" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.Delete(t.Context(), "m", nil); err != nil {
		t.Error(err)
	}
}

// TestDeleteAfterCancelledStart is the clean-up of a create whose caller went away during the pull.
func TestDeleteAfterCancelledStart(t *testing.T) {
	pull, begun, finish := slowPull()
	s := newStandIn(t, false, sim.Options{Pull: pull, Supervisor: -1})
	s.create(t, "m")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := s.Start(ctx, "m", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(finish)
	if err := s.Delete(t.Context(), "m", nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Inspect(t.Context(), "m"); !errors.Is(err, smol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestStaleLock starts again after a pull that failed, which old releases keep refusing.
func TestStaleLock(t *testing.T) {
	for _, version := range []string{"1.14.5", "1.14.6"} {
		failed := false
		s := newStandIn(t, false, sim.Options{Version: version, Pull: func(context.Context, string) error {
			if !failed {
				failed = true
				return errors.New("registry is down")
			}
			return nil
		}})
		s.create(t, "m")
		_, err := s.Start(t.Context(), "m", nil)
		if e := asError(t, err); e.Status != 500 || !strings.Contains(e.Message, "registry is down") {
			t.Fatalf("%s: %+v", version, e)
		}
		if info, err := s.Start(t.Context(), "m", nil); err != nil || info.State != smol.StateRunning {
			t.Errorf("%s: %+v, %v", version, info, err)
		}
	}
}

// TestMadeByTheCommand is a machine that the smolvm command made: it has to be started here before anything is let in.
func TestMadeByTheCommand(t *testing.T) {
	s := newStandIn(t, false, sim.Options{Supervisor: -1})
	if err := s.h.Server().AddRecord("m", ""); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Inspect(t.Context(), "m"); err != nil || info.State != smol.StateStopped || info.RawState != "created" {
		t.Errorf("%+v, %v", info, err)
	}
	_, err := s.Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"echo"}})
	if e := asError(t, err); !errors.Is(err, smol.ErrConflict) || !strings.Contains(e.Hint, "Start") {
		t.Errorf("%+v", e)
	}
	if _, err := lines(t.Context(), s.Backend, nil); !errors.Is(err, smol.ErrConflict) {
		t.Errorf("logs: %v", err)
	}
	if _, err := s.Start(t.Context(), "m", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(t.Context(), "m", &smol.ExecRequest{Argv: []string{"echo"}}); err != nil {
		t.Error(err)
	}
}

// TestEgressSurvives reads back from the service what was asked for, a port included.
func TestEgressSurvives(t *testing.T) {
	s := newStandIn(t, false, sim.Options{})
	for i, want := range []smol.Network{
		{AllowCIDRs: []string{}}, {Open: true}, {AllowCIDRs: []string{"10.0.0.0/8"}}, {AllowCIDRs: []string{}, AllowHosts: []string{"a.b"}},
	} {
		name := fmt.Sprintf("m%d", i)
		info, err := s.Create(t.Context(), &smol.Spec{Name: name, Network: want, Ports: []smol.Port{{Guest: 80}}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, info.Network); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(info.Ports) != 1 || info.Ports[0].Host == 0 {
			t.Errorf("ports %+v", info.Ports)
		}
	}
}

// TestImageWithoutNetwork: what one release refuses the next accepts; a refusal says what to do.
func TestImageWithoutNetwork(t *testing.T) {
	for version, refused := range map[string]bool{"1.14.5": true, "1.23.0": false} {
		s := newStandIn(t, false, sim.Options{Version: version})
		_, err := s.Create(t.Context(), &smol.Spec{Name: "m", Image: "alpine"})
		if refused {
			if e := asError(t, err); e.Code != smol.CodeInvalid || !strings.Contains(e.Hint, "Network.Open") || !strings.Contains(e.Hint, "AllowHosts") {
				t.Errorf("%s: %+v", version, e)
			}
		} else if err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// TestServiceRestarts between calls, which a client survives.
func TestServiceRestarts(t *testing.T) {
	s := newStandIn(t, false, sim.Options{})
	s.boot(t, "m")
	if err := s.h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := s.Inspect(t.Context(), "m")
	if err != nil || info.State != smol.StateRunning {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestServiceEmbedsTheFleet goes through the public type.
func TestServiceEmbedsTheFleet(t *testing.T) {
	s := newStandIn(t, false, sim.Options{})
	svc, err := local.New(&local.Options{URL: s.h.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Close() }()
	for _, c := range []smol.Capability{smol.CapabilityBranch, smol.CapabilityImages, smol.CapabilityStream, smol.CapabilityLogs, smol.CapabilityFiles} {
		if !svc.Supports(c) {
			t.Errorf("no %s", c)
		}
	}
	m, err := svc.Create(t.Context(), smol.Spec{Image: "alpine", Network: smol.Network{Open: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Discard(); err != nil {
		t.Error(err)
	}
}
