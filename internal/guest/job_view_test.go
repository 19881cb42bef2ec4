package guest_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
)

// counted returns n bytes of numbered lines, and the command that writes them.
func counted(n int) (data []byte, script string) {
	for i := 1; len(data) < n; i++ {
		data = fmt.Appendf(data, "%d\n", i)
	}
	return data[:n], fmt.Sprintf("seq 1 %d | head -c %d", n, n)
}

func TestOutputBeyondTheBudget(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		const size, budget = 100_000, 10_000
		data, script := counted(size)
		s := m.job("sh", "-c", script+"; ("+script+") >&2")
		s.View.Budget = budget
		r := m.run(s, guest.Exited, 0)
		if r.StdoutSize != size || !bytes.Equal(r.Stdout.Data, data[:budget]) || !bytes.Equal(r.Stderr.Data, data[:budget]) {
			t.Errorf("the first piece: size %d, %d and %d bytes", r.StdoutSize, len(r.Stdout.Data), len(r.Stderr.Data))
		}

		v := guest.View{Budget: budget, Clip: true}
		r = m.poll(s.ID, v)
		const head = budget * 2 / 3
		clipped := append(bytes.Clone(data[:head]), data[size-(budget-head):]...)
		if !bytes.Equal(r.Stdout.Data, clipped) || r.Stdout.Head != head || r.Stdout.Dropped != size-budget || r.Stdout.Next() != size {
			t.Errorf("clipped: %d bytes, head %d, dropped %d", len(r.Stdout.Data), r.Stdout.Head, r.Stdout.Dropped)
		}
		if !bytes.Equal(r.Stderr.Data, clipped) {
			t.Error("clipped standard error")
		}

		v = guest.View{Budget: budget + 7} // so that pieces begin anywhere in a block
		var got []byte
		for v.Stdout < size {
			r = m.poll(s.ID, v)
			got, v.Stdout = append(got, r.Stdout.Data...), r.Stdout.Next()
		}
		if !bytes.Equal(got, data) {
			t.Errorf("piece after piece: %d bytes", len(got))
		}
	})
}

func TestOffsets(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "printf 0123456789; printf abc >&2")
		m.run(s, guest.Exited, 0)
		for _, row := range []struct {
			view           guest.View
			stdout, stderr string
		}{
			{guest.View{Budget: 100}, "0123456789", "abc"},
			{guest.View{Budget: 100, Stdout: 3}, "3456789", "abc"},
			{guest.View{Budget: 100, Stdout: 3, Stderr: 2}, "3456789", "c"},
			{guest.View{Budget: 100, Stdout: 10, Stderr: 3}, "", ""},
			{guest.View{Budget: 100, Stdout: 11, Stderr: 1000}, "", ""},
			{guest.View{Budget: 100, Stdout: math.MaxInt64 / 2, Stderr: math.MaxInt64}, "", ""},
			{guest.View{Budget: 100, Stdout: math.MaxInt64 / 2}, "", "abc"},
			{guest.View{Budget: 4}, "0123", "abc"},
			{guest.View{Budget: 4, Stdout: 3}, "3456", "abc"},
			{guest.View{Budget: 4, Stdout: 3, Clip: true}, "3489", "abc"},
			{guest.View{Budget: 9, Clip: true}, "012345789", "abc"},
			{guest.View{Budget: 1, Clip: true}, "9", "c"},
			{guest.View{Budget: 2, Clip: true}, "09", "ac"},
			{guest.View{}, "", ""},
			{guest.View{Clip: true}, "", ""},
		} {
			r := m.poll(s.ID, row.view)
			if string(r.Stdout.Data) != row.stdout || string(r.Stderr.Data) != row.stderr || r.StdoutSize != 10 || r.StderrSize != 3 {
				t.Errorf("%+v: %q of %d, %q of %d", row.view, r.Stdout.Data, r.StdoutSize, r.Stderr.Data, r.StderrSize)
			}
		}
	})
}

func TestNewsEndsTheWait(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		s := m.job("sh", "-c", "echo go; while ! [ -e /workspace/1 ]; do sleep 0.05; done; echo one >&2; while ! [ -e /workspace/2 ]; do sleep 0.05; done")
		r := m.background(s)
		v := guest.View{Stdout: r.Stdout.Next(), Budget: 100, News: true, Wait: time.Second / 2}
		if r := m.poll(s.ID, v); r.State != guest.Running || len(r.Stdout.Data)+len(r.Stderr.Data) > 0 {
			t.Errorf("without news: %+v", r)
		}
		m.sh(": >/workspace/1")
		v.Wait = patience
		r = m.poll(s.ID, v)
		if r.State != guest.Running || string(r.Stderr.Data) != "one\n" {
			t.Errorf("news: %+v", r)
		}
		v.Stderr = r.Stderr.Next()
		m.sh(": >/workspace/2")
		m.want(m.poll(s.ID, v), guest.Exited, 0)
	})
}

// A wait that is over does not wait for the command.
func TestWaitEnds(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for _, wait := range []time.Duration{0, 10 * time.Millisecond, time.Second} {
			s := m.job("sh", "-c", "echo go; exec sleep 600")
			s.View.Wait = wait
			if r := m.start(s); r.State != guest.Running || r.Ended-r.Started < wait-time.Second/100 {
				t.Errorf("start with a wait of %v: %+v", wait, r)
			}
			if r := m.poll(s.ID, snapshot(wait)); r.State != guest.Running {
				t.Errorf("poll with a wait of %v: %+v", wait, r)
			}
			m.signal(s.ID, "KILL")
		}
	})
}

// Children that stay may still write; what is announced is what comes.
func TestOutputThatGrowsAfterTheEnd(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		// Standard output is the smaller of the two, and grows.
		s := m.job("sh", "-c", "(while :; do echo x; done) & head -c 1000000 /dev/zero >&2; echo first")
		s.View.Budget = 1 << 30
		r := m.run(s, guest.Exited, 0)
		for range 3 {
			if bytes.Contains(r.Stdout.Data, []byte{0}) || bytes.Contains(r.Stderr.Data, []byte("x")) {
				t.Error("the streams are mixed")
			}
			r = m.poll(s.ID, guest.View{Budget: 1 << 30})
		}
		m.signal(s.ID, "KILL")
		m.quiet()
	})
}

func TestNoSuchJob(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		if r, err := m.tryPoll("job-1", whole); err != guest.ErrNoJob {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
