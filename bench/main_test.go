//go:build bench

package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// service is the stand-in in a process of its own, as a service is.
var service struct {
	bin    string // smolsim
	socket string
	raw    *http.Client // net/http and nothing else
	svc    *local.Service
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "smolbench")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "smolsim")
	if out, err := exec.Command("go", "build", "-o", bin, "../cmd/smolsim").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	service.bin = bin
	service.socket = filepath.Join(dir, "s.sock")
	cmd := exec.Command(bin, "serve", "start", "-l", "unix://"+service.socket)
	cmd.Env = append(os.Environ(), "SMOLVM_DATA_DIR="+filepath.Join(dir, "data"), "SMOLVM_GUEST_ROLLOUT_HOST_PORT="+freePort())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)

	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", service.socket)
	}
	service.raw = &http.Client{Transport: &http.Transport{DialContext: dial}}
	awaitHealth(service.raw, "http://localhost")
	service.svc, err = local.New(&local.Options{URL: "unix://" + service.socket})
	if err != nil {
		panic(err)
	}
	defer service.svc.Close()
	return m.Run()
}

// awaitHealth waits until the service at url answers, ten seconds at most: one that does not come shows at the first measurement.
func awaitHealth(c *http.Client, url string) {
	for range 200 {
		if resp, err := c.Get(url + "/health"); err == nil {
			resp.Body.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// machine borrows a machine for one benchmark.
func machine(tb testing.TB, image string) *smol.Machine {
	tb.Helper()
	m, err := service.svc.Create(tb.Context(), smol.Spec{Image: image, Network: smol.Network{Open: true}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Discard(); err != nil {
			tb.Error(err)
		}
	})
	return m
}

// alternate runs each function n times, in turns, so that what else happens on this computer hits both. It returns the median of each.
func alternate(tb testing.TB, n int, fns ...func() error) []time.Duration {
	tb.Helper()
	times := make([][]time.Duration, len(fns))
	for round := range n + 1 {
		for i, fn := range fns {
			begin := time.Now()
			if err := fn(); err != nil {
				tb.Fatal(err)
			}
			if round > 0 { // the first round warms up
				times[i] = append(times[i], time.Since(begin))
			}
		}
	}
	out := make([]time.Duration, len(fns))
	for i := range times {
		slices.Sort(times[i])
		out[i] = times[i][len(times[i])/2]
	}
	return out
}

// heapGrowth runs fn and returns by how much the heap in use grew at its highest, in bytes.
func heapGrowth(fn func()) int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	base := int64(stats.HeapAlloc)
	var top atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				runtime.ReadMemStats(&stats)
				top.Store(max(top.Load(), int64(stats.HeapAlloc)))
			}
		}
	}()
	fn()
	close(stop)
	<-done
	return top.Load() - base
}

// bound reports a measurement and fails when it is beyond its bound.
func bound(tb testing.TB, ok bool, format string, args ...any) {
	tb.Helper()
	text := fmt.Sprintf(format, args...)
	if !ok {
		tb.Error("BEYOND THE BOUND: " + text)
		return
	}
	tb.Log(text)
}

// zeros is an endless source of bytes that costs nothing to make.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// fileURL is the address of a guest file on the raw wire.
func fileURL(m *smol.Machine, path string) string {
	return "http://localhost/api/v1/machines/" + m.Name() + "/files/" + strings.TrimPrefix(path, "/")
}
