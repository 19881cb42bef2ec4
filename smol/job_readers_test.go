package smol_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/local"
)

// beforePiece is a transport that does something before the first piece of an output is fetched as a file.
type beforePiece struct {
	http.RoundTripper
	once *sync.Once
	do   func()
}

// RoundTrip sends the request.
func (b beforePiece) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.Contains(r.URL.String(), ".part") {
		b.once.Do(b.do)
	}
	return b.RoundTripper.RoundTrip(r)
}

// TestJobReaders: whoever reads a long output of a job gets nothing of what others read at the same time, and leaves nothing in the machine.
func TestJobReaders(t *testing.T) {
	// Each reader gets 256 KiB with its first poll, and a piece of 8 MiB after that.
	const size, later = 16 << 20, 8<<20 - 256<<10
	l, _, m := simMachine(t, smol.Spec{Image: simImages[rand.N(len(simImages))]})
	job := startJob(t, m, fmt.Sprintf("yes 0123456789 | head -c %d", size))
	if p := pollJob(t, job, &smol.PollOptions{Wait: time.Minute}); p.Stdout.Size != size {
		t.Fatalf("got %+v", p)
	}
	read := func(j *smol.Job, from int64) []byte {
		var all []byte
		for chunk, err := range j.Output(t.Context(), &smol.OutputOptions{From: smol.JobOffset{Stdout: from}}) {
			if err != nil {
				t.Error(err)
			}
			all = append(all, chunk.Data...)
		}
		return all
	}
	var second []byte
	meanwhile := func() { second = read(job, later) }
	svc, err := local.New(&local.Options{URL: l.URL(), Wrap: func(rt http.RoundTripper) http.RoundTripper {
		return beforePiece{rt, new(sync.Once), meanwhile}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	first := read(svc.Machine(m.Name()).Job(job.ID()), 0)
	want := bytes.Repeat([]byte("0123456789\n"), size/11+1)[:size]
	if !bytes.Equal(first, want) || !bytes.Equal(second, want[later:]) {
		t.Errorf("the output is another one: %d and %d bytes", len(first), len(second))
	}
	if left, err := m.Shell("cd /workspace/.smol && find . -name '*.part'").Output(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left in the machine: %q, %v", left, err)
	}
}
