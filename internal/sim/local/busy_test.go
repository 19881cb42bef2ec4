package local_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/local"
)

// call is a request in flight.
type inFlight struct {
	done chan struct{}
	a    answer
	err  error
}

func (r *rig) begin(ctx context.Context, method, path, body string) *inFlight {
	f := &inFlight{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.a, f.err = r.try(ctx, method, path, body)
	}()
	return f
}

func (f *inFlight) wait(t *testing.T) answer {
	t.Helper()
	select {
	case <-f.done:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer in 20 s")
	}
	if f.err != nil {
		t.Fatal(f.err)
	}
	return f.a
}

// occupy takes n of the machine's connections with commands that sleep.
func (r *rig) occupy(name string, n int) []*inFlight {
	r.t.Helper()
	var list []*inFlight
	before := r.guest.sleepers()
	for range n {
		list = append(list, r.begin(context.Background(), "POST", api+"/"+name+"/exec", `{"command":["sleep"]}`))
	}
	eventually(r.t, "the commands run", func() bool { return r.guest.sleepers() == before+n })
	return list
}

// sleepers counts the commands that run, on all machines.
func (g *fakeGuest) sleepers() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, in := range g.running {
		in.mu.Lock()
		n += len(in.procs)
		in.mu.Unlock()
	}
	return n
}

func TestNinthCallReboots(t *testing.T) {
	for _, tt := range []struct{ name, method, path, body string }{
		{"exec", "POST", "/exec", `{"command":["echo","hi"]}`},
		{"stream", "POST", "/exec/stream", `{"command":["echo","hi"]}`},
		{"upload", "PUT", "/files/f", "x"},
		{"pull", "POST", "/images/pull", `{"image":"alpine"}`},
		{"start", "POST", "/start", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, local.Options{})
			r.machine("m", "")
			eight := r.occupy("m", 8)
			if got := r.state("m"); got != "unreachable" {
				t.Errorf("with all connections taken it is %s", got)
			}
			if n := r.s.Reboots("m"); n != 0 {
				t.Errorf("reading the state rebooted it %d times", n)
			}
			r.want(200, "", tt.method, api+"/m"+tt.path, tt.body)
			for _, f := range eight {
				if a := f.wait(t); a.status != 500 || !strings.Contains(a.body, `agent operation failed: vm exec: `) {
					t.Errorf("a command of before was answered %d %s", a.status, a.body)
				}
			}
			if n := r.s.Reboots("m"); n != 1 {
				t.Errorf("%d reboots, want 1", n)
			}
			if n := r.guest.bootCount(); n != 2 {
				t.Errorf("%d boots, want 2", n)
			}
			if got := r.state("m"); got != "running" {
				t.Errorf("then it is %s", got)
			}
		})
	}
}

// Seven calls leave one connection for the probes, and whatever frees one in time saves the machine.
func TestEightCallsDoNotReboot(t *testing.T) {
	r := newRig(t, local.Options{Probe: 10 * time.Second})
	r.machine("m", "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seven := r.occupy("m", 7)
	if got := r.state("m"); got != "running" {
		t.Errorf("with seven calls it is %s", got)
	}
	last := r.begin(ctx, "POST", api+"/m/exec", `{"command":["sleep"],"timeoutSecs":1}`)
	eventually(t, "eight commands run", func() bool { return r.guest.sleepers() == 8 })
	if out := r.exec("m", `{"command":["echo","hi"]}`); out.Stdout != "hi\n" { // waits for the eighth to end
		t.Errorf("got %+v", out)
	}
	if a := last.wait(t); !strings.Contains(a.body, `"exitCode":124`) {
		t.Errorf("the eighth: %s", a.body)
	}
	if n := r.s.Reboots("m"); n != 0 {
		t.Errorf("%d reboots", n)
	}
	r.want(200, "", "POST", api+"/m/stop", "")
	for _, f := range seven {
		f.wait(t)
	}
}

func TestSecondCallWaits(t *testing.T) {
	r := newRig(t, local.Options{})
	gate := make(chan struct{})
	r.guest.set(func(g *fakeGuest) { g.bootGate = gate })
	r.want(200, "", "POST", api, `{"name":"m"}`)
	r.want(200, "", "POST", api, `{"name":"other"}`)
	starts := []*inFlight{
		r.begin(context.Background(), "POST", api+"/m/start", ""),
		r.begin(context.Background(), "POST", api+"/m/start", ""),
		r.begin(context.Background(), "POST", api+"/m/exec", `{"command":["true"]}`),
	}
	eventually(t, "the machine boots", func() bool { return r.guest.bootCount() == 1 })
	if got := r.state("m"); got != "created" {
		t.Errorf("while it boots it is %s", got)
	}
	r.want(200, "", "POST", api+"/other/stop", "") // another machine is not held up
	close(gate)
	for _, f := range starts {
		if a := f.wait(t); a.status != 200 {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	}
	if n := r.guest.bootCount(); n != 1 {
		t.Errorf("%d boots, want 1", n)
	}
}

func TestStopDoesNotWaitForCommands(t *testing.T) {
	r := newRig(t, local.Options{})
	r.machine("m", "")
	one := r.occupy("m", 1)
	r.want(200, "", "POST", api+"/m/stop", "")
	if a := one[0].wait(t); a.status != 500 {
		t.Errorf("the command was answered %d %s", a.status, a.body)
	}
}

func TestManyMachinesAtOnce(t *testing.T) {
	r := newRig(t, local.Options{Probe: 10 * time.Second})
	for _, name := range []string{"a", "b", "c", "d"} {
		r.machine(name, "")
	}
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			name := string(rune('a' + i%4))
			a, err := r.try(context.Background(), "POST", api+"/"+name+"/exec", `{"command":["echo","hi"]}`)
			if err != nil || a.status != 200 {
				t.Errorf("%s: %d %s %v", name, a.status, a.body, err)
			}
		})
	}
	all.Wait()
	for _, name := range []string{"a", "b", "c", "d"} {
		if n := r.s.Reboots(name); n != 0 {
			t.Errorf("%s was rebooted %d times", name, n)
		}
	}
}
