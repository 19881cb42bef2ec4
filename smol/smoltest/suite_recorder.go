package smoltest

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// recorder is a test that may fail: it remembers why.
type recorder struct {
	testing.TB // nil; for its unexported method

	name   string
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	failures []string
	failed   bool
	skipped  bool
	cleanups []func()
}

func newRecorder(ctx context.Context, name string) *recorder {
	r := &recorder{name: name}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// do runs f on a goroutine of its own, which Fatal can end, and waits for it, though not for ever: a fleet with a fault can hang.
func (r *recorder) do(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		f()
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		r.Errorf("it does not return within %v", limit)
	}
}

// finish runs the clean-ups, as a test does at its end, and returns why it failed.
func (r *recorder) finish() []string {
	r.cancel()
	for {
		r.mu.Lock()
		n := len(r.cleanups)
		if n == 0 {
			defer r.mu.Unlock()
			if r.failed && len(r.failures) == 0 {
				r.failures = append(r.failures, "failed without a word")
			}
			return slices.Clone(r.failures)
		}
		f := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.mu.Unlock()
		r.do(time.Minute, f)
	}
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	if text != "" {
		r.failures = append(r.failures, text)
	}
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp("", "suite")
	if err != nil {
		r.Fatalf("temporary directory: %v", err)
	}
	r.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			r.Errorf("temporary directory: %v", err)
		}
	})
	return dir
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Skipped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped
}

func (r *recorder) SkipNow() {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) FailNow() {
	r.fail("")
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.fail(fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Setenv(string, string) { r.Fatalf("the suite sets no environment") }

func (r *recorder) Chdir(string) { r.Fatalf("the suite changes no directory") }

func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)                 { r.fail(fmt.Sprint(args...)) }
func (r *recorder) Fail()                             { r.fail("") }
func (r *recorder) Helper()                           {}
func (r *recorder) Name() string                      { return r.name }
func (r *recorder) Context() context.Context          { return r.ctx }
func (r *recorder) ArtifactDir() string               { return r.TempDir() }
func (r *recorder) Attr(string, string)               {}
func (r *recorder) Output() io.Writer                 { return io.Discard }
func (r *recorder) Log(...any)                        {}
func (r *recorder) Logf(string, ...any)               {}
func (r *recorder) Skip(...any)                       { r.SkipNow() }
func (r *recorder) Skipf(string, ...any)              { r.SkipNow() }
