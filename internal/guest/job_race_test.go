package guest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/guest"
	"github.com/smol-machines/smol-go/internal/rounds"
)

// parallel calls fn n times at once.
func parallel(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

func TestOneIDRunsOnce(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for round := range rounds.N(3) {
			s := m.job("sh", "-c", fmt.Sprintf("echo ran >>/workspace/ran-%d; echo out", round))
			argv, _, err := s.Command()
			if err != nil {
				t.Fatal(err)
			}
			parallel(8, func(int) {
				r, err := m.reply(argv, s.View)
				if err != nil {
					t.Error(err)
				} else if r.State != guest.Exited || string(r.Stdout.Data) != "out\n" {
					t.Errorf("%+v", r)
				}
			})
			if got := m.sh(fmt.Sprintf("cat /workspace/ran-%d", round)); got != "ran" {
				t.Fatalf("it ran %d times", strings.Count(got, "ran"))
			}
		}
	})
}

// A start and its KILL on the way at once: when the kill has been answered, nothing of the command lives or ever will.
func TestKillOvertakesStart(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		for round := range rounds.N(6) {
			s := m.job("sh", "-c", "setsid sleep 601 & sleep 602")
			s.View.Wait = 0
			argv, _, err := s.Command()
			if err != nil {
				t.Fatal(err)
			}
			var killed *guest.Reply
			parallel(2, func(i int) {
				if i == 0 {
					if _, err := m.reply(argv, s.View); err != nil {
						t.Error(err)
					}
					return
				}
				for range round % 5 { // a little later each time
					m.sh(":")
				}
				killed = m.signal(s.ID, "KILL")
				if left := m.commands(); strings.Contains(strings.Join(left, "\n"), "sleep 60") {
					t.Errorf("left: %q", left)
				}
			})
			m.want(killed, guest.Signaled, 137)
			m.want(m.poll(s.ID, whole), guest.Signaled, 137)
		}
		m.quiet()
	})
}

// Whoever asks while a job ends sees it running, or all of it.
func TestPollsAtTheEnd(t *testing.T) {
	onEachShell(t, func(t *testing.T, m *machine) {
		const script = "i=0; while [ $((i+=1)) -le 100 ]; do echo line $i; done; echo err >&2; exit 7"
		var want strings.Builder
		for i := range 100 {
			fmt.Fprintf(&want, "line %d\n", i+1)
		}
		for range rounds.N(3) {
			s := m.job("sh", "-c", script)
			s.View.Wait = 0
			m.start(s)
			parallel(3, func(i int) {
				view := guest.View{Budget: 300, News: i == 0}
				if i < 2 {
					view.Wait = time.Second
				}
				var got strings.Builder
				for {
					r := m.poll(s.ID, view)
					got.Write(r.Stdout.Data)
					view.Stdout = r.Stdout.Next()
					if r.State == guest.Running || view.Stdout < r.StdoutSize {
						continue
					}
					m.want(r, guest.Exited, 7)
					if r.StderrSize != 4 {
						t.Errorf("%d bytes of stderr at the end", r.StderrSize)
					}
					break
				}
				if got.String() != want.String() {
					t.Errorf("%d of %d bytes", got.Len(), want.Len())
				}
			})
		}
	})
}
