package task_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/sim/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is a command that ends when it is killed.
type process struct {
	killed chan struct{}
	err    error
	kills  atomic.Int32
}

func newProcess() *process { return &process{killed: make(chan struct{})} }

func (p *process) PID() int              { return 1 }
func (p *process) Resize(int, int) error { return nil }

func (p *process) Wait() (int, error) {
	<-p.killed
	return 137, p.err
}

func (p *process) Signal(sig int) error {
	if p.kills.Add(1) == 1 {
		close(p.killed)
	}
	return nil
}

// controlled is one with real processes.
type controlled struct {
	*process
	reach sim.Reach
}

func (c *controlled) Exited() <-chan struct{} { return c.killed }

func (c *controlled) Kill(r sim.Reach) error {
	c.reach = r
	return c.Signal(9)
}

func TestStep(t *testing.T) {
	g := task.New()
	n, err := task.Step(t.Context(), g, func() (int, error) { return 7, errors.ErrUnsupported }, nil)
	if n != 7 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%d, %v", n, err)
	}
	g.Close(func() {})
}

// A step whose caller goes runs to its end, and what came of it is handed over.
func TestStepAbandoned(t *testing.T) {
	g := task.New()
	ctx, cancel := context.WithCancel(t.Context())
	begun, go1, late := make(chan struct{}), make(chan struct{}), make(chan int, 1)
	go func() {
		<-begun
		cancel()
	}()
	_, err := task.Step(ctx, g, func() (int, error) {
		close(begun)
		<-go1
		return 7, nil
	}, func(n int, err error) { late <- n })
	if !errors.Is(err, task.ErrAbandoned) {
		t.Errorf("%v", err)
	}
	close(go1)
	g.Close(func() {})
	if n := <-late; n != 7 {
		t.Errorf("%d came of it", n)
	}
}

// Close ends what is in the foreground, then waits for requests and work, and lets go of the machines in between and at the end.
func TestClose(t *testing.T) {
	g := task.New()
	p := newProcess()
	untrack := g.Track(p)
	defer untrack()
	var order []string
	if !g.Enter() {
		t.Fatal("no request may begin")
	}
	entered, released := make(chan struct{}), make(chan struct{})
	var slowly atomic.Bool // what a request begins while the group closes is waited for
	go func() {
		defer g.Leave()
		close(entered)
		<-g.Context().Done()
		order = append(order, "request") // before the first release, which comes when it has left
		g.Go(func() {
			<-released
			slowly.Store(true)
		})
	}()
	<-entered
	g.Go(func() {
		<-released
		order = append(order, "work")
	})
	g.Close(func() {
		if order = append(order, "release"); len(order) == 2 {
			close(released)
		}
	})
	if !slowly.Load() {
		t.Error("what a request began is not waited for")
	}
	want := []string{"request", "release", "work", "release"}
	for i := range want {
		if i >= len(order) || order[i] != want[i] {
			t.Fatalf("%v, want %v", order, want)
		}
	}
	if p.kills.Load() != 1 {
		t.Errorf("the command was killed %d times", p.kills.Load())
	}
	g.Close(func() { t.Error("closed twice") })
	if g.Enter() {
		t.Error("a request begins after the end")
	}
	late := newProcess()
	defer g.Track(late)()
	<-late.killed // a command that is started after the end is ended
	g.Go(func() {})
}

func TestWatch(t *testing.T) {
	g := task.New()
	defer g.Close(func() {})
	plain := newProcess()
	e := g.Watch(plain)
	if e.Exited != nil {
		t.Error("a guest without processes tells of their end")
	}
	task.Kill(plain, sim.ReachTree)
	if r := <-e.Waited; r.Code != 137 || r.Err != nil {
		t.Errorf("%+v", r)
	}
	c := &controlled{process: newProcess()}
	c.err = task.ErrFull
	e = g.Watch(c)
	task.Kill(c, sim.ReachTree)
	<-e.Exited
	if r := <-e.Waited; r.Code != 137 || r.Err != nil || c.reach != sim.ReachTree {
		t.Errorf("%+v, reach %v", r, c.reach)
	}
	gone := newProcess()
	gone.err = sim.ErrNotRunning
	e = g.Watch(gone)
	task.Kill(gone, sim.ReachSelf)
	if r := <-e.Waited; !errors.Is(r.Err, sim.ErrNotRunning) {
		t.Errorf("%+v", r)
	}
	task.Reap(gone)
}

func TestSeconds(t *testing.T) {
	for n, want := range map[uint64]time.Duration{0: 0, 1: time.Second, 3600: time.Hour} {
		if got := task.Seconds(n); got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
	if got := task.Seconds(^uint64(0)); got <= 0 || got+time.Hour < got {
		t.Errorf("the longest is %v", got)
	}
}
