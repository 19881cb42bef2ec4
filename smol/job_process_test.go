package smol_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/rounds"
	"github.com/smol-machines/smol-go/internal/simtest"
	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// clientOrder is the variable that makes the test binary a client: it holds an order as JSON.
const clientOrder = "SMOL_TEST_JOB_CLIENT"

// order is what a client in a process of its own is to do: start the script as a job, or without one read on in the job.
type order struct {
	URL, Token   string // with a token it is the cloud
	Machine, Job string
	Script       string
	From         smol.JobOffset
}

// said is a line that the client writes.
type said struct {
	Job    string
	Stream string
	Data   []byte
	Next   smol.JobOffset
	Ended  bool
	Code   int
	Failed string
}

// jobClient is the client.
func jobClient(text string) int {
	var o order
	err := json.Unmarshal([]byte(text), &o)
	out := json.NewEncoder(os.Stdout)
	if err == nil {
		err = o.carryOut(func(s said) { _ = out.Encode(s) }) // whoever does not listen has killed us
	}
	if err != nil {
		_ = out.Encode(said{Failed: err.Error()})
		return 1
	}
	return 0
}

func (o *order) fleet() (*smol.Fleet, error) {
	if o.Token != "" {
		svc, err := cloud.New(&cloud.Options{URL: o.URL, Token: o.Token})
		if err != nil {
			return nil, err
		}
		return svc.Fleet, nil
	}
	svc, err := local.New(&local.Options{URL: o.URL})
	if err != nil {
		return nil, err
	}
	return svc.Fleet, nil
}

func (o *order) carryOut(say func(said)) error {
	fleet, err := o.fleet()
	if err != nil {
		return err
	}
	defer fleet.Close()
	ctx, m := context.Background(), fleet.Machine(o.Machine)
	if o.Script != "" {
		job, err := m.Shell(o.Script).StartJob(ctx, nil)
		if err != nil {
			return err
		}
		say(said{Job: job.ID()})
		select {} // until it is killed
	}
	job := m.Job(o.Job)
	for chunk, err := range job.Output(ctx, &smol.OutputOptions{From: o.From}) {
		if err != nil {
			return err
		}
		say(said{Stream: chunk.Stream, Data: chunk.Data, Next: chunk.Next})
	}
	state, err := job.Wait(ctx)
	var exit *smol.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	say(said{Ended: true, Code: state.ExitCode})
	return nil
}

// client starts a client and calls hear with each line until that returns false or the client ends; then it is killed with SIGKILL.
func client(t *testing.T, o order, hear func(said) bool) {
	t.Helper()
	clientUntil(t, t.Context(), o, hear)
}

// clientUntil is client, which is killed also when ctx ends.
func clientUntil(t *testing.T, ctx context.Context, o order, hear func(said) bool) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), clientOrder+"="+string(text), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var s said
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			t.Errorf("the client says %.100q", in.Bytes())
		}
		if s.Failed != "" {
			t.Error(s.Failed)
		}
		if !hear(s) {
			break
		}
	}
	if err := in.Err(); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // which says that it was killed
}

// jobService is a stand-in, for clients in other processes.
type jobService struct {
	order
	fleet         *smol.Fleet
	kill, restart func()
}

// onJobServices runs the test on a stand-in of each fleet.
func onJobServices(t *testing.T, test func(t *testing.T, s *jobService)) {
	simtest.Sandbox(t)
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		l := smoltest.NewLocal(t, nil)
		test(t, &jobService{order: order{URL: l.URL()}, fleet: l.Service(t).Fleet, kill: l.Kill, restart: l.Restart})
	})
	t.Run("cloud", func(t *testing.T) {
		t.Parallel()
		c := smoltest.NewCloud(t, nil)
		test(t, &jobService{order: order{URL: c.URL(), Token: c.Token()}, fleet: c.Service(t).Fleet, kill: c.Kill, restart: c.Restart})
	})
}

// on is an order for a new machine of the image.
func (s *jobService) on(t *testing.T, image string) order {
	t.Helper()
	o := s.order
	o.Machine = createJobs(t, s.fleet, image)
	return o
}

// createJobs creates a machine and returns its id.
func createJobs(t *testing.T, fleet *smol.Fleet, image string) string {
	t.Helper()
	m, err := fleet.Create(t.Context(), smol.Spec{Name: "jobs-" + image, Image: image, Network: smol.Network{Open: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.ID()
}

// reader is what clients, one after the other, have read of a job.
type reader struct {
	stdout, stderr bytes.Buffer
	from           smol.JobOffset
	ended          bool
	code           int
}

func (r *reader) hear(t *testing.T, s said) {
	switch {
	case s.Ended:
		r.ended, r.code = true, s.Code
		return
	case s.Stream == "stdout":
		r.stdout.Write(s.Data)
	case s.Stream == "stderr":
		r.stderr.Write(s.Data)
	}
	r.from = s.Next
	if got := (smol.JobOffset{Stdout: int64(r.stdout.Len()), Stderr: int64(r.stderr.Len())}); got != r.from {
		t.Errorf("%+v bytes were read, and the next offset is %+v", got, r.from)
	}
}

// attached is a job that clients read, one after the other.
type attached struct {
	order
	reader
}

// endless writes a line to each stream again and again, until it is told to stop.
const endless = `i=0; until [ -e /workspace/stop ]; do echo line $((i+=1)); echo err $i >&2; sleep 0.03; done; exit 7`

// TestJobReattach: clients and the service are killed at will, and nothing of the jobs, one with each shell, is lost or told twice.
func TestJobReattach(t *testing.T) {
	onJobServices(t, func(t *testing.T, s *jobService) {
		var jobs []*attached
		for _, image := range simImages {
			a := &attached{order: s.on(t, image)}
			o := a.order
			o.Script = endless
			client(t, o, func(said said) bool { a.Job = said.Job; return false })
			jobs = append(jobs, a)
		}
		s.kill()
		s.restart()
		for round := range rounds.N(25) {
			a := jobs[round%len(jobs)]
			left := rand.N(4)
			hear := func(said said) bool { a.hear(t, said); left--; return left > 0 }
			if left == 0 {
				hear = func(said) bool { return false } // what it has read is lost with it
			}
			a.From = a.from
			if round%8 == 3 {
				s.kill()
				s.restart()
			}
			client(t, a.order, hear)
		}
		for i, a := range jobs {
			m := s.fleet.Machine(a.Machine)
			if err := m.WriteFile(t.Context(), "/workspace/stop", nil, nil); err != nil {
				t.Fatal(err)
			}
			a.From = a.from
			client(t, a.order, func(said said) bool { a.hear(t, said); return true })
			a.whole(t, simImages[i])
			p := pollJob(t, m.Job(a.Job), &smol.PollOptions{From: a.from, Wait: time.Minute})
			if p.State != smol.JobExited || p.ExitCode != 7 || p.Next != a.from {
				t.Errorf("%s: at the end: %+v", simImages[i], p)
			}
		}
	})
}

// whole fails unless all that the endless job wrote was read, once, and its exit code told.
func (r *reader) whole(t *testing.T, what string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	for i := 1; stdout.Len() < r.stdout.Len(); i++ {
		fmt.Fprintf(&stdout, "line %d\n", i)
		fmt.Fprintf(&stderr, "err %d\n", i)
	}
	if !bytes.Equal(r.stdout.Bytes(), stdout.Bytes()) || !bytes.Equal(r.stderr.Bytes(), stderr.Bytes()) || r.stdout.Len() == 0 {
		t.Errorf("%s: read %d and %d bytes, want %d and %d", what, r.stdout.Len(), r.stderr.Len(), stdout.Len(), stderr.Len())
	}
	if !r.ended || r.code != 7 {
		t.Errorf("%s: ended %v with %d, want 7", what, r.ended, r.code)
	}
}
