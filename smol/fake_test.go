package smol_test

import (
	"context"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/smol"
)

// fake is a fleet in memory, for what a real one does rarely: losing replies, states, and failures between two steps. Its machines
// keep jobs as the runner does, and the test answers the commands.
type fake struct {
	traits smol.Traits

	mu       sync.Mutex
	machines map[string]*fakeMachine
	calls    []string // what was asked, such as "create web"
	runs     []string // commands that really ran
	live     int      // calls into machines in flight, and the most there were
	most     int

	// before and after see each call, named as in calls. An error of before keeps the call from doing anything; after has the
	// reply replaced by its error.
	before, after func(ctx context.Context, call string) error
	// command answers a command. Nil: it exits with 0.
	command func(ctx context.Context, argv []string) fakeEnd
	// exec answers an exec in place of the machine, if it is set and says so.
	exec func(req *smol.ExecRequest) (*smol.ExecResult, error, bool)
}

type fakeEnd struct {
	code           int
	stdout, stderr string
}

type fakeMachine struct {
	info smol.Info
	jobs map[string]*fakeJob
}

// fakeJob is a command that the machine keeps.
type fakeJob struct {
	mu     sync.Mutex
	done   chan struct{}
	cancel context.CancelFunc
	state  guest.State
	end    fakeEnd
}

// endpoints keeps the fakes from sharing a limit.
var endpoints atomic.Int64

func newFake() *fake {
	return &fake{
		traits:   smol.Traits{Fleet: "fake", Endpoint: fmt.Sprintf("fake-%d", endpoints.Add(1)), MaxInFlight: 6},
		machines: map[string]*fakeMachine{},
	}
}

// newFakeMachine returns a fake and a running machine of it.
func newFakeMachine() (*fake, *smol.Machine) {
	f := newFake()
	f.add(smol.Info{Name: "web", ID: "web", State: smol.StateRunning})
	return f, smol.NewFleet(f).Machine("web")
}

func (f *fake) add(info smol.Info) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.machines[info.ID] = &fakeMachine{info: info, jobs: map[string]*fakeJob{}}
}

func (f *fake) set(id string, state smol.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.machines[id].info.State = state
}

// count is how many calls began so.
func (f *fake) count(prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// ran is how many commands really ran.
func (f *fake) ran() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.runs)
}

func (f *fake) has(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.machines[id] != nil
}

// wantCalls fails unless exactly these calls were made.
func (f *fake) wantCalls(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.calls, want) {
		t.Errorf("calls:\n got %q\nwant %q", f.calls, want)
	}
}

// fakeCall runs one call between the hooks.
func fakeCall[T any](ctx context.Context, f *fake, call string, do func() (T, error)) (T, error) {
	var none T
	f.mu.Lock()
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if f.before != nil {
		if err := f.before(ctx, call); err != nil {
			return none, err
		}
	}
	v, err := do()
	if f.after != nil {
		if err := f.after(ctx, call); err != nil {
			return none, err
		}
	}
	return v, err
}

func (f *fake) Traits() smol.Traits { return f.traits }

func (f *fake) Close() error { return nil }

func (f *fake) Create(ctx context.Context, spec *smol.Spec) (*smol.Info, error) {
	return fakeCall(ctx, f, "create "+spec.Name, func() (*smol.Info, error) {
		if f.has(spec.Name) {
			return nil, &smol.Error{Code: smol.CodeExists, Status: 409, Message: "already exists"}
		}
		f.add(smol.Info{Name: spec.Name, ID: spec.Name, State: smol.StateStopped, CreatedAt: time.Now().Truncate(time.Second)})
		return f.info(spec.Name)
	})
}

func (f *fake) info(ref string) (*smol.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		if m.info.ID == ref || m.info.Name == ref {
			info := m.info
			return &info, nil
		}
	}
	return nil, notFound(ref)
}

func notFound(ref string) error {
	return &smol.Error{Code: smol.CodeNotFound, Status: 404, Machine: ref, Message: "machine not found"}
}

func (f *fake) Inspect(ctx context.Context, ref string) (*smol.Info, error) {
	return fakeCall(ctx, f, "inspect "+ref, func() (*smol.Info, error) { return f.info(ref) })
}

func (f *fake) List(ctx context.Context, _ map[string]string) iter.Seq2[*smol.Info, error] {
	return func(yield func(*smol.Info, error) bool) {
		infos, err := fakeCall(ctx, f, "list", func() (infos []*smol.Info, _ error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, m := range f.machines {
				infos = append(infos, &m.info)
			}
			return infos, nil
		})
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (f *fake) to(ctx context.Context, call, id string, state smol.State) (*smol.Info, error) {
	return fakeCall(ctx, f, call+" "+id, func() (*smol.Info, error) {
		if !f.has(id) {
			return nil, notFound(id)
		}
		f.set(id, state)
		return f.info(id)
	})
}

func (f *fake) Start(ctx context.Context, id string, _ *smol.StartOptions) (*smol.Info, error) {
	return f.to(ctx, "start", id, smol.StateRunning)
}

func (f *fake) Stop(ctx context.Context, id string, _ *smol.StopOptions) (*smol.Info, error) {
	return f.to(ctx, "stop", id, smol.StateStopped)
}

func (f *fake) Delete(ctx context.Context, id string, _ *smol.DeleteOptions) error {
	_, err := fakeCall(ctx, f, "delete "+id, func() (struct{}, error) {
		if !f.has(id) {
			return struct{}{}, notFound(id)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.machines, id)
		return struct{}{}, nil
	})
	return err
}

// unavailable is a reply that was lost.
var errLost = &smol.Error{Code: smol.CodeUnavailable, Message: "connection cut"}

// netOpError is the failure of a dial, before which nothing was sent.
var netOpError = net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
