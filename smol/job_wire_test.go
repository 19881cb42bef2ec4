package smol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// byteCounter is a proxy that counts what the service sends.
type byteCounter struct {
	net.Listener
	to    string
	bytes atomic.Int64
}

// countBefore returns a proxy before the service at that address.
func countBefore(t *testing.T, url string) *byteCounter {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &byteCounter{Listener: lis, to: strings.TrimPrefix(url, "http://")}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = lis.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { c.forward(conn) })
		}
	})
	return c
}

func (c *byteCounter) forward(client net.Conn) {
	defer client.Close()
	service, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer service.Close()
	go func() {
		_, _ = io.Copy(service, client)
		_ = service.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(io.MultiWriter(client, c), service)
}

// Write counts.
func (c *byteCounter) Write(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	return len(b), nil
}

func (c *byteCounter) url() string { return "http://" + c.Addr().String() }

// TestJobBudgetOnTheWire: of an output of 40 MiB a reply brings the budget, and the machine keeps all of it.
func TestJobBudgetOnTheWire(t *testing.T) {
	test := func(t *testing.T, c *byteCounter, fleet *smol.Fleet, image string) {
		size := 40 << 20
		if t.Name() != "TestJobBudgetOnTheWire/local/"+simImages[0] && rounds.N(1) == 1 {
			size = 4 << 20
		}
		m, err := fleet.Create(t.Context(), smol.Spec{Image: image, Network: smol.Network{Open: true}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.bytes.Store(0)
		job, err := m.Shell(fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo é`, size-3)).StartJob(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b := smol.Budget{Bytes: 10_000}
		p := pollJob(t, job, &smol.PollOptions{Wait: time.Minute, Budget: b})
		whole := append(bytes.Repeat([]byte("x"), size-3), "é\n"...)
		want := b.Clip(whole)
		if !bytes.Equal(p.Stdout.Head, want.Head) || !bytes.Equal(p.Stdout.Tail, want.Tail) || p.Stdout.Dropped != want.Dropped || p.Stdout.Size != int64(size) {
			t.Errorf("got %d and %d bytes of %d, %d dropped", len(p.Stdout.Head), len(p.Stdout.Tail), p.Stdout.Size, p.Stdout.Dropped)
		}
		// It comes twice, as text and in base64, and in a frame; the rest is what the machine is like.
		if n := c.bytes.Load(); n > 5*int64(b.Bytes) {
			t.Errorf("%d bytes on the wire for a budget of %d", n, b.Bytes)
		}
		check := m.Shell(`wc -c <"$F"; tr -d x <"$F"`)
		check.Env = []string{"F=" + p.Stdout.Path}
		if out, err := check.CombinedOutput(t.Context()); err != nil || string(out) != fmt.Sprintf("%d\né\n", size) {
			t.Errorf("the file in the machine: %v: %.100q", err, out)
		}
	}
	for _, image := range fleetShells("local") {
		t.Run("local/"+image, func(t *testing.T) {
			t.Parallel()
			c := countBefore(t, smoltest.NewLocal(t, &smoltest.Options{TCP: true}).URL())
			svc, err := local.New(&local.Options{URL: c.url()})
			if err != nil {
				t.Fatal(err)
			}
			defer svc.Close()
			test(t, c, svc.Fleet, image)
		})
	}
	for _, image := range fleetShells("cloud") {
		t.Run("cloud/"+image, func(t *testing.T) {
			t.Parallel()
			sim := smoltest.NewCloud(t, nil)
			c := countBefore(t, sim.URL())
			svc, err := cloud.New(&cloud.Options{URL: c.url(), Token: sim.Token()})
			if err != nil {
				t.Fatal(err)
			}
			defer svc.Close()
			test(t, c, svc.Fleet, image)
		})
	}
}

// TestJobsAtOnce: many jobs in one machine, each followed by two clients, do not disturb each other.
func TestJobsAtOnce(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, l *smoltest.Local, m *smol.Machine) {
		other := l.Service(t).Machine(m.Name())
		jobs := 32
		if !strings.HasSuffix(t.Name(), simImages[0]) && rounds.N(1) == 1 {
			jobs = 10
		}
		var wg sync.WaitGroup
		for n := range jobs {
			wg.Go(func() {
				job, err := m.Shell(fmt.Sprintf("seq 1 %d; sleep 0.3; echo end; exit %d", 100+n, n)).StartJob(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				var want strings.Builder
				for i := range 100 + n {
					fmt.Fprintln(&want, i+1)
				}
				want.WriteString("end\n")
				for _, j := range []*smol.Job{job, other.Job(job.ID())} {
					wg.Go(func() {
						var got strings.Builder
						for chunk, err := range j.Output(t.Context(), nil) {
							if err != nil {
								t.Error(err)
							}
							got.Write(chunk.Data)
						}
						p := pollJob(t, j, nil)
						if got.String() != want.String() || p.State != smol.JobExited || p.ExitCode != n {
							t.Errorf("job %d: %d bytes, want %d; %s with %d", n, got.Len(), want.Len(), p.State, p.ExitCode)
						}
					})
				}
			})
		}
		wg.Wait()
		if n := l.Reboots(m.Name()); n != 0 {
			t.Errorf("the machine was rebooted %d times", n)
		}
	})
}

// TestJobCancelledStart: a start that is cancelled tells which job may run, and it is that one or none.
func TestJobCancelledStart(t *testing.T) {
	onShells(t, smol.Spec{}, func(t *testing.T, l *smoltest.Local, m *smol.Machine) {
		for round := range rounds.N(2) {
			armed := l.Fault(smoltest.Fault{Method: "POST", Path: execPath, Nth: 1, Action: smoltest.Hang, Work: round%2 == 0})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			job, err := m.Shell("exit 5").StartJob(ctx, nil)
			if !errors.Is(err, context.Canceled) || job == nil || armed.Fired() != 1 {
				t.Fatalf("got %v and %v after %d faults", job, err, armed.Fired())
			}
			p, err := m.Job(job.ID()).Poll(t.Context(), &smol.PollOptions{Wait: time.Minute})
			if round%2 == 0 && (err != nil || p.ExitCode != 5) || round%2 != 0 && !errors.Is(err, smol.ErrNotFound) {
				t.Errorf("round %d: %+v, %v", round, p, err)
			}
		}
	})
}

// TestJobKeepsAwake: a machine of the cloud stops when nobody uses it, but not while somebody waits for a job in it.
func TestJobKeepsAwake(t *testing.T) {
	clock := smoltest.NewClock(time.Time{})
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Clock: clock, Sweep: -1})
	m, err := c.Service(t).Fleet.Create(t.Context(), smol.Spec{Image: "busybox", AutoStop: 10 * time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	job := startJob(t, m, "until [ -e /workspace/go ]; do sleep 0.05; done; exit 3")
	clock.Advance(time.Minute)
	waited := make(chan error, 1)
	go func() {
		_, err := job.Wait(t.Context())
		waited <- err
	}()
	for want := clock.Now().Add(10 * time.Minute); ; { // until the service has taken up the wait
		info, err := m.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.StopsAt.Equal(want) {
			break
		}
	}
	clock.Advance(11 * time.Minute)
	c.Sweep()
	if err := m.WriteFile(t.Context(), "/workspace/go", nil, nil); err != nil {
		t.Fatal(err)
	}
	var exit *smol.ExitError
	if err := <-waited; !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("the job that was waited for: %v", err)
	}
	alone := startJob(t, m, "sleep 1000")
	clock.Advance(11 * time.Minute)
	c.Sweep()
	var state *smol.StateError
	if _, err := alone.Poll(t.Context(), nil); !errors.As(err, &state) || state.Got != smol.StateStopped {
		t.Errorf("the job that was left alone: %v", err)
	}
}
