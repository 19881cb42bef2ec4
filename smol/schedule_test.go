package smol_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/sim/fault"
	"github.com/smol-machines/smol-go/smol"
)

var seedFlag = flag.Uint64("smol.seed", 0, "run only the fault schedule with this seed, on both fleets, and print it")

// TestFaultSchedules runs schedules of operations and faults, each made up from a seed. Whatever goes wrong: no command ends with a wrong
// exit code or other output, nothing runs twice, every error has a type, every call returns when its context has ended, and no machine is left
// that nobody was told of. Time is that of package synctest, so waits cost nothing.
func TestFaultSchedules(t *testing.T) {
	first, n := uint64(1), rounds.Soak(50, 5000)
	if *seedFlag != 0 {
		first, n = *seedFlag, 1
	}
	for _, fleet := range []string{"local", "cloud"} {
		t.Run(fleet, func(t *testing.T) {
			for seed := first; seed < first+uint64(n); seed++ {
				t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
					t.Parallel()
					runSchedule(t, fleet, seed)
				})
			}
		})
	}
}

// stuck is how long a schedule takes at most, in real time; it needs a few milliseconds.
const stuck = 2 * time.Minute

// runSchedule runs one schedule in a bubble of its own.
func runSchedule(t *testing.T, fleet string, seed uint64) {
	s := &schedule{seed: seed, fleet: fleet, rand: rand.New(rand.NewPCG(seed, uint64(len(fleet)))), boxes: map[string]*box{}}
	s.notef("fleet %s", fleet)
	alarm := time.AfterFunc(stuck, func() { panic("a schedule does not end:\n" + s.String()) })
	defer alarm.Stop()
	defer func() {
		if t.Failed() || *seedFlag != 0 {
			t.Logf("to run it again: go test ./smol -run TestFaultSchedules/%s -smol.seed=%d\n%s", fleet, seed, s)
		}
	}()
	synctest.Test(t, s.run)
}

// schedule is a run of operations, and what is to be expected of the fleet after them.
type schedule struct {
	t     *testing.T
	w     *world
	rand  *rand.Rand
	seed  uint64
	fleet string
	tags  int
	began time.Time

	boxes map[string]*box // by name
	// told are names of machines that an error said may be left.
	told []string
	cmds []*work

	mu  sync.Mutex
	log strings.Builder
}

// String is the schedule so far.
func (s *schedule) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *schedule) notef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.began.IsZero() {
		fmt.Fprintf(&s.log, "%10s ", time.Since(s.began).Round(time.Millisecond))
	}
	fmt.Fprintf(&s.log, format+"\n", args...)
}

func (s *schedule) failf(format string, args ...any) {
	s.t.Helper()
	s.notef("WRONG: "+format, args...)
	s.t.Errorf("seed %d: "+format, append([]any{s.seed}, args...)...)
}

// run makes up the schedule as it goes.
func (s *schedule) run(t *testing.T) {
	s.t, s.began = t, time.Now()
	w, err := newWorld(s.fleet, pick(s.rand, []string{"", "1.18.2", "1.23.0"}))
	if err != nil {
		t.Fatal(err)
	}
	s.w = w
	s.create()
	for range 1 + s.rand.IntN(int(min(2+s.seed/16, 8))) { // the first ones are short, so that a few cost little
		s.step()
	}
	s.settle()
	for _, c := range w.closes {
		if err := c(); err != nil {
			s.failf("close: %v", err)
		}
	}
}

// step does one operation under faults.
func (s *schedule) step() {
	b := s.box()
	if b == nil {
		s.create()
		return
	}
	pick(s.rand, []func(*box){
		(*box).exec, (*box).exec, (*box).exec, (*box).input, (*box).write, (*box).write, (*box).read, (*box).branch, (*box).remove,
		(*box).startJob, (*box).startJob, (*box).pollJob, (*box).pollJob, (*box).waitJob, (*box).killJob, (*box).list,
		func(b *box) { b.s.create() },
	})(b)
}

// box returns one of the machines, or nil.
func (s *schedule) box() *box {
	var names []string
	for i := range s.tags + 1 {
		if name := fmt.Sprint("m", i); s.boxes[name] != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return s.boxes[pick(s.rand, names)]
}

// tag is a new name.
func (s *schedule) tag(prefix string) string {
	s.tags++
	return fmt.Sprint(prefix, s.tags)
}

// pass lets the time of the bubble go on, in which what is under way comes to its end.
func pass(d time.Duration) { time.Sleep(d) }

// do runs an operation under a deadline, most of the time with faults, and checks that it returns in time and with a proper error. Grace is how long it
// may go on after its context has ended.
func (s *schedule) do(grace time.Duration, what string, fn func(ctx context.Context) error) error {
	s.t.Helper()
	limit := pick(s.rand, []time.Duration{30 * time.Millisecond, 2 * time.Second, 20 * time.Second, 5 * time.Minute, 5 * time.Minute, 30 * time.Minute})
	var armed []*fault.Armed
	for n := s.rand.IntN(4); n > 0; n-- {
		f := newFault(s.rand, s.fleet)
		s.notef("  fault %d: %s", len(armed), describe(&f))
		armed = append(armed, s.w.arm(f))
	}
	s.notef("%s, within %s", what, limit)
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	began := time.Now()
	err := fn(ctx)
	took := time.Since(began)
	fired := make([]int, len(armed))
	for i, a := range armed {
		fired[i] = a.Fired()
	}
	s.notef("  = %v after %s; faults hit %v", err, took.Round(time.Millisecond), fired)
	s.w.host.ClearFaults()
	if took > limit+grace {
		s.failf("%s took %s, %s more than its context gave it", what, took, took-limit)
	}
	s.typed(what, err, ctx)
	return err
}

// typed checks that an error is one that a program can tell from others.
func (s *schedule) typed(what string, err error, ctx context.Context) {
	s.t.Helper()
	var failed *smol.Error
	var state *smol.StateError
	var exit *smol.ExitError
	interrupted := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case err == nil, errors.As(err, &exit), errors.As(err, &state):
	case interrupted && ctx.Err() == nil && !strings.Contains(err.Error(), "not ready after"): // a create has a limit of its own
		s.failf("%s: the context has not ended, and the error says so: %v", what, err)
	case errors.As(err, &failed):
		if failed.Code == "" || failed.Op == "" || failed.Error() == "" {
			s.failf("%s: an error that says too little: %#v", what, failed)
		}
	case !interrupted:
		s.failf("%s: an error without a type: %T %v", what, err, err)
	}
}
