//go:build bench

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim"
	"github.com/smol-machines/smol-go/internal/simtest"
)

// inMemory returns a directory, in memory if there is such a file system: a disk that was just busy takes as long for a new file as all the rest.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "smol-bench-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestSandbox measures how fast the stand-in's machines start.
func TestSandbox(t *testing.T) {
	guest := simtest.Sandbox(t)
	dir := inMemory(t)
	boot := func(name string) (sim.Instance, error) {
		return guest.Boot(t.Context(), &sim.Boot{Dir: filepath.Join(dir, name), Name: name, Image: "debian"})
	}
	n := 0
	var last sim.Instance
	times := alternate(t, 25,
		func() (err error) { n++; last, err = boot(fmt.Sprintf("m%d", n)); return err },
		func() error { return last.Kill() })
	bound(t, times[0] <= 15*time.Millisecond, "machine start: %v (bound 15ms); kill %v", times[0], times[1])

	round := 0
	all := func() error {
		round++
		var wg sync.WaitGroup
		errs := make(chan error, 64)
		for i := range 64 {
			wg.Go(func() {
				inst, err := boot(fmt.Sprintf("r%d-%d", round, i))
				if err == nil {
					t.Cleanup(func() { inst.Kill() })
				}
				errs <- err
			})
		}
		wg.Wait()
		for range 64 {
			if err := <-errs; err != nil {
				return err
			}
		}
		return nil
	}
	begin := time.Now()
	if err := all(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	bound(t, took <= time.Second, "64 machines at once: %v (bound 1s)", took)
}
