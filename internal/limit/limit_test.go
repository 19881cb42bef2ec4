package limit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/smol-machines/smol-go/internal/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fill takes n places of the class at once and returns what gives them back.
func fill(t *testing.T, l *limit.Limiter, class limit.Class, n int) []func() {
	t.Helper()
	var releases []func()
	for i := range n {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		release, err := l.Acquire(ctx, class)
		cancel()
		if err != nil {
			t.Fatalf("call %d of class %d was not admitted: %v", i+1, class, err)
		}
		releases = append(releases, release)
	}
	return releases
}

// full fails unless a call of the class has to wait.
func full(t *testing.T, l *limit.Limiter, class limit.Class) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := l.Acquire(ctx, class); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a call of class %d was admitted beyond the limit (err %v)", class, err)
	}
}

func TestPlaces(t *testing.T) {
	tests := []struct {
		name            string
		max             int
		ordinary, short int // taken in this order
		full            []limit.Class
		free            []limit.Class
	}{
		{"ordinary calls leave one place", 6, 5, 0, []limit.Class{limit.Ordinary}, []limit.Class{limit.Short}},
		{"the kept place is one", 6, 5, 1, []limit.Class{limit.Ordinary, limit.Short, limit.Urgent}, nil},
		{"short calls use free ordinary places", 6, 0, 6, []limit.Class{limit.Ordinary, limit.Short}, nil},
		{"short calls count", 6, 2, 3, nil, []limit.Class{limit.Ordinary}},
		{"one short call costs ordinary ones nothing", 6, 4, 1, nil, []limit.Class{limit.Ordinary}},
		{"two places", 2, 1, 0, []limit.Class{limit.Ordinary}, []limit.Class{limit.Urgent}},
		{"one place is for all", 1, 0, 1, []limit.Class{limit.Ordinary, limit.Short}, nil},
		{"one place is for ordinary calls too", 1, 1, 0, []limit.Class{limit.Ordinary, limit.Urgent}, nil},
		{"no limit", 0, 50, 50, nil, []limit.Class{limit.Ordinary, limit.Short, limit.Urgent}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limit.New(tt.max)
				taken := fill(t, l, limit.Ordinary, tt.ordinary)
				taken = append(taken, fill(t, l, limit.Short, tt.short)...)
				for _, class := range tt.full {
					full(t, l, class)
				}
				for _, class := range tt.free {
					fill(t, l, class, 1)[0]()
				}
				for _, release := range taken {
					release()
					release() // twice is once
				}
				if tt.max > 0 {
					for _, release := range fill(t, l, limit.Short, tt.max) {
						release()
					}
				}
			})
		})
	}
}

// queue lets calls come one after another and returns a function that tells the order in which they were admitted. Each goes
// on for a second.
func queue(t *testing.T, l *limit.Limiter, classes ...limit.Class) func() []string {
	t.Helper()
	var mu sync.Mutex
	var order []string
	for i, class := range classes {
		go func() {
			release, err := l.Acquire(t.Context(), class)
			if err != nil {
				t.Errorf("call %d: %v", i, err)
				return
			}
			mu.Lock()
			order = append(order, fmt.Sprintf("%c%d", "osu"[class], i))
			mu.Unlock()
			time.Sleep(time.Second)
			release()
		}()
		synctest.Wait()
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(order)
	}
}

func TestOrder(t *testing.T) {
	const o, s, u = limit.Ordinary, limit.Short, limit.Urgent
	tests := []struct {
		name  string
		calls []limit.Class
		want  []string
	}{
		{"ordinary calls in order", []limit.Class{o, o, o, o}, []string{"o0", "o1", "o2", "o3"}},
		{"short calls pass to the kept place", []limit.Class{o, o, s, s}, []string{"s2", "o0", "s3", "o1"}},
		{"urgent calls go first", []limit.Class{s, s, o, u, u}, []string{"s0", "u3", "u4", "s1", "o2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limit.New(2)
				held := fill(t, l, limit.Ordinary, 1)
				order := queue(t, l, tt.calls...)
				time.Sleep(time.Second / 2)
				held[0]()
				time.Sleep(time.Minute)
				if got := order(); !slices.Equal(got, tt.want) {
					t.Errorf("admitted in the order %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestCancelledCallLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(2)
		held := fill(t, l, limit.Ordinary, 1)
		kept := fill(t, l, limit.Short, 1)
		reason := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, limit.Ordinary)
			result <- err
		}()
		synctest.Wait()
		order := queue(t, l, limit.Short)
		cancel(reason)
		if err := <-result; !errors.Is(err, reason) {
			t.Errorf("the cancelled call returned %v, want its cause", err)
		}
		kept[0]()
		synctest.Wait()
		if len(order()) != 1 {
			t.Error("the call behind the cancelled one was not admitted")
		}
		held[0]()
		time.Sleep(time.Minute)
		for _, release := range fill(t, l, limit.Short, 2) {
			release()
		}
	})
}

func TestEndedContextIsNotAdmitted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := limit.New(6).Acquire(ctx, limit.Urgent); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestCancelRace cancels at the moment of admission; no place may be lost over it.
func TestCancelRace(t *testing.T) {
	l := limit.New(2)
	for range 500 {
		held := fill(t, l, limit.Ordinary, 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if release, err := l.Acquire(ctx, limit.Ordinary); err == nil {
				release()
			}
		}()
		go cancel()
		held[0]()
		<-done
		cancel()
	}
	for _, release := range fill(t, l, limit.Short, 2) {
		release()
	}
}

func TestCrowded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(6)
		var taken []func()
		for i, want := range []bool{false, false, false, false, true, true} {
			if got := l.Crowded(); got != want {
				t.Errorf("with %d ordinary calls: crowded %v, want %v", i, got, want)
			}
			if i < 5 {
				taken = append(taken, fill(t, l, limit.Ordinary, 1)...)
			}
		}
		queue(t, l, limit.Ordinary)
		taken[0]()
		synctest.Wait()
		if !l.Crowded() {
			t.Error("not crowded although all places are taken")
		}
		time.Sleep(time.Second)
		if limit.New(0).Crowded() {
			t.Error("crowded without a limit")
		}
	})
}

func TestRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r limit.Registry
		one, other := limit.Key{Endpoint: "e", ID: "m"}, limit.Key{Endpoint: "f", ID: "m"}
		if r.Crowded(one) {
			t.Error("a machine without calls is crowded")
		}
		first, err := r.Acquire(t.Context(), one, 1, limit.Ordinary)
		if err != nil {
			t.Fatal(err)
		}
		second, err := r.Acquire(t.Context(), other, 1, limit.Ordinary)
		if err != nil {
			t.Fatalf("another endpoint's machine of that id shares the limit: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Acquire(ctx, one, 1, limit.Ordinary); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the same machine does not share the limit: %v", err)
		}
		if !r.Crowded(one) {
			t.Error("a full machine is not crowded")
		}
		first()
		second()
		second()
		if n := r.Len(); n != 0 {
			t.Errorf("%d idle machines are remembered", n)
		}
	})
}

func TestProcessIsOne(t *testing.T) {
	first, second := limit.Process(), limit.Process()
	if first != second {
		t.Error("two registries in one process")
	}
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r limit.Registry
		key := limit.Key{Endpoint: "e", ID: "m"}
		release, err := r.Acquire(t.Context(), key, 6, limit.Ordinary)
		if err != nil {
			t.Fatal(err)
		}
		pass := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			err := r.Pass(ctx, key)
			return time.Since(began), err
		}
		if d, err := pass(t.Context()); err != nil || d != 0 {
			t.Errorf("an open gate: waited %v, %v", d, err)
		}
		began := time.Now()
		first, err := r.Shut(t.Context(), key, 6)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d == 0 {
			t.Error("a call that has just passed was not waited for")
		}
		began = time.Now()
		second, err := r.Shut(t.Context(), key, 6)
		if err != nil || time.Since(began) != 0 {
			t.Errorf("waited %v for no call, %v", time.Since(began), err)
		}
		time.AfterFunc(time.Second, first)
		time.AfterFunc(2*time.Second, second)
		if d, err := pass(t.Context()); err != nil || d != 2*time.Second {
			t.Errorf("a shut gate: waited %v, %v, want two seconds", d, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.Shut(ctx, key, 6); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
		third, err := r.Shut(t.Context(), key, 6)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pass(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled pass: %v", err)
		}
		third()
		third()
		if d, err := pass(t.Context()); err != nil || d != 0 {
			t.Errorf("open again: waited %v, %v", d, err)
		}
		release()
		if n := r.Len(); n != 0 {
			t.Errorf("%d idle machines are remembered", n)
		}
		if d, err := pass(t.Context()); err != nil || d != 0 {
			t.Errorf("an idle machine: waited %v, %v", d, err)
		}
	})
}
